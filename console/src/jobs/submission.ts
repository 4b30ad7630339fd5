// What the form says, as a submission of the API. Pure; the server judges what is in it.
import type { JobSummary } from '../api/types';

export interface Shape {
  script: string;
  name: string;
  queue: string;
  tasks: string;
  gpus: string;
  cores: string;
  memory: string;
  time_limit: string;
  project: string;
  priority: string;
  label: string;
}

const NUMBERS = ['tasks', 'cores', 'priority'] as const;
const TEXTS = ['name', 'queue', 'memory', 'gpus', 'time_limit', 'project', 'label'] as const;

export function submissionOf(shape: Shape): Record<string, unknown> {
  const job: Record<string, unknown> = { script: shape.script.replaceAll('\r\n', '\n') };
  for (const field of TEXTS) if (shape[field].trim()) job[field] = shape[field].trim();
  for (const field of NUMBERS) if (shape[field].trim()) job[field] = Number(shape[field]);
  return job;
}

// 3725 s: "0-01:02:05", as the API reads it.
export function spanText(seconds: number): string {
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
  return `${Math.floor(seconds / 86400)}-${two((seconds % 86400) / 3600)}:${two((seconds % 3600) / 60)}:${two(seconds % 60)}`;
}

// What the form says for another job like this one: what it asks for in all, by task.
export function likeOf(job: Pick<JobSummary, 'request' | 'time_limit_s'>) {
  const tasks = Math.max(1, job.request.tasks);
  const memory = Math.round(job.request.memory_bytes / tasks);
  return {
    tasks,
    gpus: job.request.gpus_milli > 0 ? String(job.request.gpus_milli / tasks / 1000) : '',
    cores: Math.max(1, Math.round(job.request.cores / tasks)),
    memory: memory > 0 ? (memory % 2 ** 20 === 0 ? `${memory / 2 ** 20}Mi` : String(memory)) : '',
    time_limit: job.time_limit_s ? spanText(job.time_limit_s) : '',
  };
}
