import { expect, it } from 'vitest';
import { progressFacts, type Progress } from './progress';

const one: Progress = {
  ranks: 4,
  step: 12_000,
  step_max: 12_003,
  step_us: 850_500,
  busy_min_us: 700_000,
  busy_max_us: 1_900_000,
  slowest_rank: 3,
  phase: 'train',
  samples_per_s: 1234.5,
  loss: 0.25,
};

it('says how far a job is, and which rank holds it up', () => {
  expect(progressFacts(one)).toEqual([
    ['Phase', 'train'],
    ['Step', '12,000; the furthest rank is at 12,003'],
    ['Ranks', '4'],
    ['A step takes', '850.5 ms'],
    ['Loss', '0.25'],
    ['Samples a second', '1,234.5'],
    ['Busy in a step', '700 ms to 1 s, most in rank 3'],
  ]);
});

it('leaves out what a job does not say', () => {
  const little = {
    ...one,
    ranks: 1,
    step_max: 12_000,
    step_us: 0,
    busy_max_us: 0,
    phase: '',
    samples_per_s: 0,
    loss: null,
  };
  expect(progressFacts(little)).toEqual([
    ['Step', '12,000'],
    ['Ranks', '1'],
  ]);
});
