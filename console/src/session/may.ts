// What is offered to whom. Pure, and no protection: the server decides, and says no in its own words.
import type { JobSummary, Me } from '../api/types';

type Roles = Pick<Me, 'user' | 'admin' | 'roles'>;
type Owned = Pick<JobSummary, 'user' | 'project'>;

// Which projects a domain has is not known here, so that a role on any domain counts.
function holds(me: Roles, job: Owned, roles: readonly string[]): boolean {
  return me.roles.some((held) => roles.includes(held.role) && (held.level !== 'project' || held.name === job.project));
}

export function mayAct(me: Roles, job: Owned): boolean {
  return me.admin || me.user === job.user || holds(me, job, ['manager', 'admin']);
}

export function mayReadOutput(me: Roles, job: Owned): boolean {
  return mayAct(me, job) || holds(me, job, ['viewer', 'member', 'auditor']);
}

export function mayEnter(me: Roles, job: Owned): boolean {
  return me.admin || me.user === job.user;
}

export function mayAudit(me: Roles): boolean {
  return (
    me.admin || me.roles.some(({ role, level }) => level === 'cluster' && (role === 'auditor' || role === 'admin'))
  );
}
