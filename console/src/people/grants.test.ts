import { expect, it } from 'vitest';
import { bindingName, granted, namesIn, takenBack } from './grants';

const vision = { role: 'member', level: 'project', name: 'vision' } as const;

it('names and fills bindings as dove role does', () => {
  expect(bindingName(vision)).toBe('vision.members');
  expect(bindingName({ role: 'admin', level: 'cluster', name: '' })).toBe('cluster.admins');
  expect(granted(vision, 'users', 'ann', undefined)).toEqual({ role: 'member', project: 'vision', users: ['ann'] });
  const before = { kind: 'Binding', name: 'vision.members', role: 'member', users: ['ann', 'bo'], version: '7' };
  expect(granted(vision, 'users', 'bo', before).users).toEqual(['ann', 'bo']);
  expect(takenBack(before, 'users', 'ann')).toEqual({ role: 'member', users: ['bo'], version: '7' });
});

it('reads names however they are parted, each once', () => {
  expect(namesIn(' ann, bo\ncy  ann,')).toEqual(['ann', 'bo', 'cy']);
  expect(namesIn(' ')).toEqual([]);
});
