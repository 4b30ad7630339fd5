import { expect, it } from 'vitest';
import { limitsOf, shownLimit } from './limits';

it('writes limits as people do, and takes an empty field for none', () => {
  expect(shownLimit({ gpus_milli: 2500 }, 'gpus')).toBe('2.5');
  expect(shownLimit({ jobs_running: -1 }, 'jobs_running')).toBe('');
  expect(shownLimit({ gpu_ms_month: 7_200_000 }, 'gpu_hours_month')).toBe('2');
  const form = new FormData();
  form.set('gpus', ' 1.5 ');
  form.set('cores', '8');
  expect(limitsOf(form, { jobs_running: 3 })).toEqual({ gpus: '1.5', cores: 8, jobs_running: null });
});
