// What somebody uses of what they may, as a page writes it. Pure.
import { bytes, grouped, thousandths, words } from '../elements/format';

export interface Quota {
  level: string;
  name: string;
  resource: string;
  used: number;
  asked?: number;
  limit: number;
  over?: number;
  ends_at_us?: number;
  raised_by: string;
}

// What one job may have; nothing is used of it.
export function ofOneJob(resource: string): boolean {
  return resource.startsWith('job_');
}

// "gpus_milli:H200": "GPUs (H200)".
export function resourceName(resource: string): string {
  if (resource === 'gpu_ms_month') return 'GPU hours this month';
  if (resource === 'job_time_limit_s') return 'Time limit of one job';
  if (ofOneJob(resource)) return `${resourceName(resource.slice(4))} of one job`;
  const [kind = '', model] = resource.split(':');
  const name = { gpus_milli: 'GPUs', memory_bytes: 'Memory' }[kind] ?? words(kind);
  return model ? `${name} (${model})` : name;
}

export function amount(resource: string, value: number): string {
  if (ofOneJob(resource) && resource !== 'job_time_limit_s') return amount(resource.slice(4), value);
  if (resource === 'job_time_limit_s') return `${grouped(value)} s`;
  if (resource === 'gpu_ms_month') return grouped(Math.floor(value / 360_000) / 10);
  if (resource.startsWith('gpus_milli')) return thousandths(value);
  return resource === 'memory_bytes' ? bytes(value) : grouped(value);
}
