import { expect, it } from 'vitest';
import type { QueueInUse, UsageOverTime } from '../api/types';
import { sharesOf } from './share';

const queue = (name: string, parent = '') => ({ name, parent }) as unknown as QueueInUse;
const row = (name: string, ...steps: number[]) => ({
  name,
  gpu_hours: steps.reduce((sum, one) => sum + one, 0),
  core_hours: 0,
  jobs: 1,
  steps,
});
const usage = (...rows: UsageOverTime['rows']): UsageOverTime => ({
  by: 'queue',
  from_us: 0,
  to_us: 7200e6,
  step_s: 1800,
  complete_from_us: 0,
  rows,
});

it('counts what a queue holds in those above it, too', () => {
  const queues = [queue('research'), queue('vision', 'research'), queue('default'), queue('idle')];
  const rows = [row('vision', 0, 2, 2, 0), row('research', 0, 0.5, 0.5, 0.5), row('default', 0, 0, 1, 1), row('idle')];
  const shares = sharesOf(usage(...rows), queues, 2);
  expect(shares.atS).toEqual([0, 1800, 3600, 5400, 7200]);
  expect(shares.queues).toEqual([
    { name: 'research', gpus: [0, 5, 5, 1, 1] },
    { name: 'vision', gpus: [0, 4, 4, 0, 0] },
  ]);
  expect(sharesOf(usage(), queues, 2)).toEqual({ atS: [], queues: [] });
});

it('begins where something was held, and shows some minutes at least', () => {
  const late = row('default', ...new Array<number>(30).fill(0), 1, ...new Array<number>(20).fill(0));
  const shares = sharesOf({ ...usage(late), step_s: 60 }, [queue('default')], 2);
  expect(shares.atS[0]).toBe(29 * 60);
  expect(shares.queues[0]!.gpus.slice(0, 3)).toEqual([0, 60, 0]);
  const just = row('default', ...new Array<number>(50).fill(0), 1);
  expect(sharesOf({ ...usage(just), step_s: 60 }, [queue('default')], 2).atS).toHaveLength(11);
});
