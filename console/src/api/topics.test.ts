import { expect, it } from 'vitest';
import { concerns, topicsOf } from './topics';

it('says what a record makes stale', () => {
  expect(topicsOf({ seq: 1, at_us: 0, kind: 'Launch', job: 7 })).toEqual(['jobs', 'job:7', 'nodes', 'queues']);
  expect(topicsOf({ seq: 1, at_us: 0, kind: 'NodeConnected' })).toEqual(['nodes']);
  expect(topicsOf({ seq: 1, at_us: 0, kind: 'ExecutorContactChanged' })).toEqual(['nodes']);
  for (const kind of ['ForeignAllocationObserved', 'ForeignAllocationEnded'])
    expect(topicsOf({ seq: 1, at_us: 0, kind })).toEqual(['nodes', 'queues']);
  expect(topicsOf({ seq: 1, at_us: 0, kind: 'ObjectApplied' })).toContain('queues');
  expect(topicsOf({ seq: 1, at_us: 0, kind: 'TimeReached' })).toEqual([]);
  expect(concerns(['job:7'], new Set(['jobs', 'job:8']))).toBe(false);
});
