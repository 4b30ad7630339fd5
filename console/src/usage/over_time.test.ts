import { expect, it } from 'vitest';
import type { UsageOverTime } from '../api/types';
import { linesOf, nameOf } from './over_time';

const row = (name: string, ...steps: number[]) => ({
  name,
  gpu_hours: steps.reduce((all, one) => all + one, 0),
  core_hours: 1,
  jobs: 1,
  steps,
});
const usage: UsageOverTime = {
  by: 'project',
  from_us: 7200e6,
  to_us: 21600e6,
  step_s: 7200,
  complete_from_us: 0,
  rows: [row('vision', 8, 4), row('', 2, 2), row('speech', 0, 1), row('idle', 0, 0)],
};

it('shows GPUs held in the mean of each step, and the rest together', () => {
  expect(linesOf(usage, 'project', 1)).toEqual({
    atS: [7200, 14400, 21600],
    names: ['vision', 'others'],
    gpus: [
      [4, 2, 2],
      [1, 1.5, 1.5],
    ],
  });
  expect(linesOf(usage, 'project', 6).names).toEqual(['vision', 'no project', 'speech']);
  expect(linesOf({ ...usage, rows: [] }, 'user', 6)).toEqual({ atS: [], names: [], gpus: [] });
});

it('names those without a name', () => {
  expect(nameOf('project', '')).toBe('no project');
  expect(nameOf('domain', '')).toBe('no domain');
  expect(nameOf('user', 'ann')).toBe('ann');
});
