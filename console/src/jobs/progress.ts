// How far a job's tasks say that they are, as facts to show. Pure.
import type { Job } from '../api/types';
import { duration, grouped, thousandths } from '../elements/format';

export type Progress = NonNullable<Job['progress']>;

const span = (us: number) => (us < 1e6 ? `${thousandths(us)} ms` : duration(us / 1e6));

export function progressFacts(progress: Progress): [string, string][] {
  const { step, step_max: furthest, busy_min_us: least, busy_max_us: most } = progress;
  const facts: [string, string][] = [
    ['Step', furthest > step ? `${grouped(step)}; the furthest rank is at ${grouped(furthest)}` : grouped(step)],
    ['Ranks', grouped(progress.ranks)],
  ];
  if (progress.phase) facts.unshift(['Phase', progress.phase]);
  if (progress.step_us > 0) facts.push(['A step takes', span(progress.step_us)]);
  if (progress.loss !== null) facts.push(['Loss', String(progress.loss)]);
  if (progress.samples_per_s > 0) facts.push(['Samples a second', grouped(progress.samples_per_s)]);
  if (most > 0) {
    const busiest = progress.ranks > 1 ? `, most in rank ${progress.slowest_rank}` : '';
    facts.push(['Busy in a step', least < most ? `${span(least)} to ${span(most)}${busiest}` : span(most)]);
  }
  return facts;
}
