// How many GPUs each queue held over the last hours, a queue's children within it, of the jobs that are known. Jobs that
// were forgotten, and former attempts, are not in it. Pure.
import type { JobSummary, QueueInUse } from '../api/types';
import { seriesOf } from '../overview/series';
import { treeOf } from './queue_tree';

export interface Shares {
  atS: number[];
  queues: { name: string; gpus: number[] }[]; // those that held most, first
}

// Of each queue itself and all above it.
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

export function sharesOf(
  jobs: readonly JobSummary[],
  queues: readonly QueueInUse[],
  fromUs: number,
  toUs: number,
  points: number,
  most: number,
): Shares {
  const above = ancestry(queues);
  const held = new Map<string, JobSummary[]>();
  for (const job of jobs) {
    if (!job.started_at_us || job.request.gpus_milli === 0) continue;
    for (const name of above.get(job.queue) ?? [job.queue]) {
      const theirs = held.get(name);
      if (theirs) theirs.push(job);
      else held.set(name, [job]);
    }
  }
  const lines = [...held].map(([name, theirs]) => {
    const { gpus } = seriesOf(theirs, fromUs, toUs, points);
    return { name, gpus, sum: gpus.reduce((sum, one) => sum + one, 0) };
  });
  lines.sort((a, b) => b.sum - a.sum || a.name.localeCompare(b.name));
  const { atS } = seriesOf([], fromUs, toUs, points);
  return { atS, queues: lines.slice(0, most).map(({ name, gpus }) => ({ name, gpus })) };
}
