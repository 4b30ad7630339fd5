import { expect, it } from 'vitest';
import type { Me } from '../api/types';
import { mayAct, mayEnter, mayReadOutput } from './may';

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
