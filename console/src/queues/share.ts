// How many GPUs each queue held over the last hours, a queue's children within it. Pure.
import type { QueueInUse, UsageOverTime } from '../api/types';
import { treeOf } from './queue_tree';

export interface Shares {
  atS: number[]; // where each step begins, and where the last one ends
  queues: { name: string; gpus: number[] }[]; // in the mean of each step; those that held most, first
}

// Each queue itself and all above it.
export function ancestry(queues: readonly QueueInUse[]): Map<string, string[]> {
  const above = new Map<string, string[]>();
  const path: string[] = [];
  for (const { queue, depth } of treeOf(queues)) {
    path.length = depth;
    path.push(queue.name as string);
    above.set(queue.name as string, [...path]);
  }
  return above;
}

const LEAST_STEPS = 10;

// `usage` is by queue: of the jobs of each itself. The time before anything was held is left out.
export function sharesOf(usage: UsageOverTime, queues: readonly QueueInUse[], most: number): Shares {
  const above = ancestry(queues);
  const held = new Map<string, number[]>();
  for (const row of usage.rows) {
    if (row.gpu_hours === 0) continue;
    for (const name of above.get(row.name) ?? [row.name]) {
      const all = held.get(name);
      held.set(name, all ? all.map((hours, at) => hours + row.steps[at]!) : row.steps);
    }
  }
  const lines = [...held].map(([name, steps]) => ({
    name,
    gpus: [...steps, steps.at(-1)!].map((hours) => (hours * 3600) / usage.step_s),
    sum: steps.reduce((sum, hours) => sum + hours, 0),
  }));
  lines.sort((a, b) => b.sum - a.sum || a.name.localeCompare(b.name));
  const all = lines[0]?.gpus.length ?? 0;
  const first = Math.min(...lines.map(({ gpus }) => gpus.findIndex((held) => held > 0)));
  const from = Math.max(0, Math.min(first - 1, all - 1 - LEAST_STEPS));
  return {
    atS: Array.from({ length: Math.max(0, all - from) }, (_, at) => usage.from_us / 1e6 + (from + at) * usage.step_s),
    queues: lines.slice(0, most).map(({ name, gpus }) => ({ name, gpus: gpus.slice(from) })),
  };
}
