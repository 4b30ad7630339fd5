// What the overview's plot shows: how many GPUs the jobs that are known held over the last hours.
// Jobs that were forgotten, and former attempts, are not in it. Pure.
import type { JobSummary } from '../api/types';

export interface Series {
  atS: number[];
  gpus: number[];
  running: number[];
}

const SHORTEST_US = 600e6;
const LONGEST_US = 6 * 3600e6;

// How far back it is worth to look: to the first of these jobs, within bounds.
export function reachOf(jobs: readonly JobSummary[], nowUs: number): number {
  const first = Math.min(nowUs, ...jobs.map((job) => job.started_at_us ?? nowUs));
  return Math.min(LONGEST_US, Math.max(SHORTEST_US, Math.ceil((nowUs - first) / SHORTEST_US) * SHORTEST_US));
}

export function seriesOf(jobs: readonly JobSummary[], fromUs: number, toUs: number, points: number): Series {
  const step = (toUs - fromUs) / points;
  const gpus = new Array<number>(points + 2).fill(0);
  const running = new Array<number>(points + 2).fill(0);
  for (const job of jobs) {
    if (!job.started_at_us || job.started_at_us > toUs) continue;
    const first = Math.max(0, Math.ceil((job.started_at_us - fromUs) / step));
    const last = Math.ceil(((job.ended_at_us ?? toUs + step) - fromUs) / step);
    if (last <= first) continue;
    const after = Math.min(last, points + 1);
    gpus[first]! += job.request.gpus_milli / 1000;
    gpus[after]! -= job.request.gpus_milli / 1000;
    running[first]! += 1;
    running[after]! -= 1;
  }
  const sum = (steps: number[]) => {
    let held = 0;
    return steps.slice(0, points + 1).map((change) => (held += change));
  };
  return {
    atS: Array.from({ length: points + 1 }, (_, at) => (fromUs + at * step) / 1e6),
    gpus: sum(gpus),
    running: sum(running),
  };
}
