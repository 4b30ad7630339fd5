import { expect, it } from 'vitest';
import type { JobSummary, QueueInUse } from '../api/types';
import { sharesOf } from './share';

const queue = (name: string, parent = '') => ({ name, parent }) as unknown as QueueInUse;
const job = (of: string, gpus: number, from: number, to?: number) =>
  ({ queue: of, started_at_us: from, ended_at_us: to, request: { gpus_milli: gpus * 1000 } }) as unknown as JobSummary;

it('counts what a queue holds in those above it, too', () => {
  const queues = [queue('research'), queue('vision', 'research'), queue('default')];
  const jobs = [job('vision', 4, 1e6, 3e6), job('research', 1, 1e6), job('default', 2, 2e6)];
  const shares = sharesOf(jobs, queues, 0, 4e6, 4, 2);
  expect(shares.atS).toEqual([0, 1, 2, 3, 4]);
  expect(shares.queues).toEqual([
    { name: 'research', gpus: [0, 5, 5, 1, 1] },
    { name: 'vision', gpus: [0, 4, 4, 0, 0] },
  ]);
});
