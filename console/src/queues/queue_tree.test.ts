import { expect, it } from 'vitest';
import type { QueueInUse } from '../api/types';
import { borrowed, lent, treeOf } from './queue_tree';

const queue = (name: string, parent = '') => ({ name, parent }) as unknown as QueueInUse;

it('shows children under their parents, and orphans at the top', () => {
  const rows = treeOf([queue('vision', 'research'), queue('default'), queue('research'), queue('lost', 'gone')]);
  expect(rows.map((row) => `${row.depth}${row.queue.name}`)).toEqual(['0default', '0research', '1vision', '0lost']);
});

it("counts as lent what siblings use of a guarantee, after what is nobody's", () => {
  const held = (name: string, guaranteed: number, used: number, parent = '') =>
    ({ name, parent, guaranteed: { gpus_milli: guaranteed }, usage: { gpus_milli: used } }) as unknown as QueueInUse;
  const top = [held('a', 4000, 1000), held('b', 4000, 3000), held('c', 2000, 8000)];
  expect([...lent(top, 12_000)]).toEqual([
    ['a', 3000],
    ['b', 1000],
    ['c', 0],
  ]);
  const two = [held('a', 4000, 1000), held('b', 4000, 3000), held('c', 0, 4000)];
  expect(lent(two, 10_000).get('a')).toBe(1500);
  expect(lent(two, 12_000).get('a')).toBe(0);
  const below = [...top, held('x', 1000, 0, 'c'), held('y', 0, 8000, 'c')];
  expect(lent(below, 12_000).get('x')).toBe(1000);
});

it('counts what goes beyond the guarantee', () => {
  expect(borrowed(3000, { gpus_milli: 2000 })).toBe(1000);
  expect(borrowed(1000, { gpus_milli: 2000 })).toBe(0);
  expect(borrowed(1000, null)).toBe(1000);
});
