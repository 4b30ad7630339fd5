import { expect, it } from 'vitest';
import type { QueueInUse } from '../api/types';
import { borrowed, treeOf } from './queue_tree';

const queue = (name: string, parent = '') => ({ name, parent }) as unknown as QueueInUse;

it('shows children under their parents, and orphans at the top', () => {
  const rows = treeOf([queue('vision', 'research'), queue('default'), queue('research'), queue('lost', 'gone')]);
  expect(rows.map((row) => `${row.depth}${row.queue.name}`)).toEqual(['0default', '0research', '1vision', '0lost']);
});

it('counts what goes beyond the guarantee', () => {
  expect(borrowed(3000, { gpus_milli: 2000 })).toBe(1000);
  expect(borrowed(1000, { gpus_milli: 2000 })).toBe(0);
  expect(borrowed(1000, null)).toBe(1000);
});
