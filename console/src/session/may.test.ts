import { expect, it } from 'vitest';
import type { Me } from '../api/types';
import { managedProjects, mayAct, mayEnter, mayReadOutput, mayRunDomain, runsADomain } from './may';

const me = (role?: Me['roles'][number]) => ({ user: 'ann', admin: false, roles: role ? [role] : [] });
const job = { user: 'bo', project: 'vision' };

it('offers what a role is good for, at its level', () => {
  expect(mayAct(me(), { ...job, user: 'ann' })).toBe(true);
  expect(mayAct(me(), job)).toBe(false);
  expect(mayAct(me({ role: 'manager', level: 'project', name: 'vision' }), job)).toBe(true);
  expect(mayAct(me({ role: 'manager', level: 'project', name: 'other' }), job)).toBe(false);
  expect(mayReadOutput(me({ role: 'viewer', level: 'cluster', name: '' }), job)).toBe(true);
  expect(mayEnter(me({ role: 'manager', level: 'project', name: 'vision' }), job)).toBe(false);
  expect(mayEnter({ ...me(), admin: true }, job)).toBe(true);
});

it('offers what is in a domain to its administrators, and service accounts to managers of a project', () => {
  const admin = me({ role: 'admin', level: 'domain', name: 'corp' });
  expect([mayRunDomain(admin, 'corp'), mayRunDomain(admin, 'other'), mayRunDomain(admin, '')]).toEqual([
    true,
    false,
    false,
  ]);
  const manager = me({ role: 'manager', level: 'domain', name: 'corp' });
  expect([mayRunDomain(manager, 'corp'), runsADomain(manager), runsADomain(admin)]).toEqual([false, false, true]);
  expect(mayRunDomain(me({ role: 'admin', level: 'cluster', name: '' }), '')).toBe(true);
  expect(managedProjects(me({ role: 'manager', level: 'project', name: 'vision' }))).toEqual(['vision']);
  expect(managedProjects(admin)).toEqual([]);
});
