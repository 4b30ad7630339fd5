// Who held how many GPU hours, as a plot and a table show it. Pure.
import type { UsageOverTime } from '../api/types';

export const SPANS = [
  { days: 1, says: 'last day', steps: 96 },
  { days: 7, says: 'last 7 days', steps: 168 },
  { days: 30, says: 'last 30 days', steps: 180 },
  { days: 365, says: 'last year', steps: 365 },
] as const;
export type Span = (typeof SPANS)[number];

export const BY = [
  { by: 'user', says: 'By user' },
  { by: 'project', says: 'By project' },
  { by: 'domain', says: 'By domain' },
  { by: 'queue', says: 'By queue' },
] as const;
export type By = (typeof BY)[number]['by'];

export const nameOf = (by: By, name: string) => name || (by === 'project' || by === 'domain' ? `no ${by}` : '–');

export interface Lines {
  atS: number[]; // where each step begins, and where the last one ends
  names: string[];
  gpus: number[][]; // held in the mean of each step
}

// The `most` who held most each have a line, and all others together have one.
export function linesOf(usage: UsageOverTime, by: By, most: number): Lines {
  const held = usage.rows.filter((row) => row.gpu_hours > 0);
  const mean = (steps: number[]) => [...steps, steps.at(-1)!].map((gpuHours) => (gpuHours * 3600) / usage.step_s);
  const sum = (rows: number[][]) => rows[0]!.map((_, at) => rows.reduce((all, steps) => all + steps[at]!, 0));
  const first = held.slice(0, most);
  const others = held.slice(most).map((row) => row.steps);
  return {
    atS: held[0] ? [...held[0].steps, 0].map((_, at) => usage.from_us / 1e6 + at * usage.step_s) : [],
    names: [...first.map((row) => nameOf(by, row.name)), ...(others.length > 0 ? ['others'] : [])],
    gpus: [...first.map((row) => row.steps), ...(others.length > 0 ? [sum(others)] : [])].map(mean),
  };
}
