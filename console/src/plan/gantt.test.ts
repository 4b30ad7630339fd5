import { expect, it } from 'vitest';
import type { JobSummary } from '../api/types';
import { barsOf, ticksOf, windowOf } from './gantt';

const job = (id: number, more: object) => ({ id, name: 'x', time_limit_s: 0, ...more }) as unknown as JobSummary;
const HOUR = 3600e6;

it('draws reservations, promises and what runs', () => {
  const bars = barsOf(
    [{ name: 'fan', outage: true, starts_at_us: HOUR, ends_at_us: 2 * HOUR, nodes: ['n1'] }],
    [job(2, { promised_start_us: 5 * HOUR, time_limit_s: 3600 }), job(3, {})],
    [job(1, { started_at_us: 1 }), job(4, { started_at_us: 2, time_limit_s: 7200, ends_by_us: 2 + HOUR })],
  );
  expect(bars.map((bar) => [bar.tone, bar.from, bar.to])).toEqual([
    ['outage', HOUR, 2 * HOUR],
    ['promised', 5 * HOUR, 6 * HOUR],
    ['running', 1, null],
    ['running', 2, 2 + HOUR],
  ]);
  const [from, to] = windowOf(bars, HOUR);
  expect(from).toBeLessThan(HOUR);
  expect(to).toBeGreaterThan(6 * HOUR);
});

it('has round ticks, not too many', () => {
  expect(ticksOf(10, 10 * HOUR, 6)).toEqual([2, 4, 6, 8, 10].map((hour) => hour * HOUR));
  expect(ticksOf(0, 300 * 24 * HOUR, 6).length).toBeGreaterThan(0);
});
