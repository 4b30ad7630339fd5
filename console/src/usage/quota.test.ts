import { expect, it } from 'vitest';
import { amount, resourceName } from './quota';

it('writes resources and amounts as people do', () => {
  expect(resourceName('gpus_milli:H200')).toBe('GPUs (H200)');
  expect(resourceName('jobs_running')).toBe('Jobs running');
  expect(amount('gpus_milli', 2500)).toBe('2.5');
  expect(amount('memory_bytes', 2 ** 30)).toBe('1 GiB');
  expect(amount('cores', 12000)).toBe('12,000');
  expect(resourceName('gpu_ms_month')).toBe('GPU hours this month');
  expect(amount('gpu_ms_month', 2.5 * 3_600_000)).toBe('2.5');
  expect(resourceName('job_gpus_milli')).toBe('GPUs of one job');
  expect(amount('job_gpus_milli', 8000)).toBe('8');
});
