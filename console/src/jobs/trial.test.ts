import { expect, it } from 'vitest';
import { fieldOf } from './trial';

it('finds the field that a refusal is about', () => {
  expect(fieldOf('queue')).toBe('queue');
  expect(fieldOf('groups[0].per_task.gpus_milli')).toBe('gpus');
  expect(fieldOf('groups[0].tasks')).toBe('tasks');
  expect(fieldOf('time_limit_us')).toBe('time_limit');
  expect([fieldOf('groups'), fieldOf(undefined), fieldOf('')]).toEqual(['', '', '']);
});
