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

// Whether they administer that domain, and so declare what is in it; "": what is in none is the cluster's.
export function mayRunDomain(me: Roles, domain: string): boolean {
  return (
    me.admin ||
    me.roles.some(
      ({ role, level, name }) =>
        role === 'admin' && (level === 'cluster' || (level === 'domain' && domain !== '' && name === domain)),
    )
  );
}

export function runsADomain(me: Roles): boolean {
  return me.admin || me.roles.some(({ role, level }) => role === 'admin' && level !== 'project');
}

// The projects that they are a manager of, whose service accounts they keep.
export function managedProjects(me: Roles): string[] {
  return me.roles
    .filter(({ role, level }) => level === 'project' && (role === 'manager' || role === 'admin'))
    .map(({ name }) => name);
}
