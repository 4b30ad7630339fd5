// What users and projects have allocated now, and what they wait for, summed over jobs. Pure.
import type { JobSummary } from '../api/types';

export interface Sum {
  name: string;
  running: number;
  waiting: number;
  gpus_milli: number;
  cores: number;
  memory_bytes: number;
  waiting_gpus_milli: number;
}

export function sumsBy(jobs: readonly JobSummary[], key: (job: JobSummary) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const job of jobs) {
    const name = key(job);
    let sum = sums.get(name);
    if (!sum)
      sums.set(
        name,
        (sum = { name, running: 0, waiting: 0, gpus_milli: 0, cores: 0, memory_bytes: 0, waiting_gpus_milli: 0 }),
      );
    if (job.phase === 'waiting') {
      sum.waiting += 1;
      sum.waiting_gpus_milli += job.request.gpus_milli;
    } else if (job.phase === 'active') {
      sum.running += 1;
      sum.gpus_milli += job.request.gpus_milli;
      sum.cores += job.request.cores;
      sum.memory_bytes += job.request.memory_bytes;
    }
  }
  return [...sums.values()].sort(
    (a, b) => b.gpus_milli - a.gpus_milli || b.cores - a.cores || a.name.localeCompare(b.name),
  );
}
