import { expect, it } from 'vitest';
import type { JobSummary } from '../api/types';
import { reachOf, seriesOf } from './series';

const job = (started: number | null, ended: number | null, gpus: number) =>
  ({ started_at_us: started, ended_at_us: ended, request: { gpus_milli: gpus * 1000 } }) as unknown as JobSummary;

it('looks back as far as there is something to see', () => {
  const now = 10 * 3600e6;
  expect(reachOf([], now)).toBe(600e6);
  expect(reachOf([job(now - 700e6, null, 1)], now)).toBe(1200e6);
  expect(reachOf([job(1, null, 1)], now)).toBe(6 * 3600e6);
});

it('adds what jobs held at each point', () => {
  const series = seriesOf(
    [job(-50e6, 25e6, 2), job(40e6, null, 4), job(null, null, 8), job(11e6, 12e6, 1)],
    0,
    100e6,
    10,
  );
  expect(series.gpus).toEqual([2, 2, 2, 0, 4, 4, 4, 4, 4, 4, 4]);
  expect(series.running).toEqual([1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]);
  expect(series.atS[10]).toBe(100);
});
