import { expect, it } from 'vitest';
import type { JobSummary } from '../api/types';
import { sumsBy } from './sums';

it('sums what is held apart from what is waited for', () => {
  const job = (user: string, phase: string, gpus: number) =>
    ({ user, phase, request: { gpus_milli: gpus * 1000, cores: 2, memory_bytes: 10 } }) as unknown as JobSummary;
  const sums = sumsBy(
    [job('ann', 'active', 1), job('ann', 'waiting', 8), job('bob', 'active', 4), job('cy', 'ended', 1)],
    (one) => one.user,
  );
  expect(sums.map((sum) => sum.name)).toEqual(['bob', 'ann', 'cy']);
  expect(sums[1]).toMatchObject({ running: 1, waiting: 1, gpus_milli: 1000, cores: 2, waiting_gpus_milli: 8000 });
});
