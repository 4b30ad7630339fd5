// The filters of the list of jobs, as the address has them and as the API takes them. Pure.
import { withQuery } from '../api/http';
import type { JobSummary } from '../api/types';
import { bytes, thousandths } from '../elements/format';

export const FIELDS = ['text', 'state', 'user', 'queue', 'project', 'name', 'label'] as const;
export type Field = (typeof FIELDS)[number];
export type Filters = Partial<Record<Field, string>>;

export const STATES = [
  'waiting',
  'held',
  'active',
  'preparing',
  'running',
  'stopping',
  'ended',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'node_lost',
  'dependency_never_met',
  'deadline_missed',
  'stopped_idle',
];
export const PAGE = 50;

export function readFilters(search: URLSearchParams): Filters {
  const filters: Filters = {};
  for (const field of FIELDS) {
    const value = search.get(field)?.trim();
    if (value) filters[field] = value.slice(0, 256);
  }
  return filters;
}

// The call that answers a page of jobs, newest first. A text that is a number is a job's id.
export function jobsPath(filters: Filters, after?: string | null): string {
  const { text, ...exactly } = filters;
  if (text && /^\d+(_\d+)?(,\d+(_\d+)?)*$/.test(text))
    return withQuery('/v1/jobs', { ...exactly, ids: text, limit: PAGE, after, framework: 1 });
  return withQuery('/v1/jobs', { ...exactly, text, order: 'newest', limit: PAGE, after, framework: 1 });
}

// How the API names one job: an array's id would mean all its elements.
export function referenceOf(job: Pick<JobSummary, 'id' | 'array'>): string {
  return job.array ? `${job.array.id}_${job.array.index}` : String(job.id);
}

function shapeOf({ launch, request, framework }: Pick<JobSummary, 'launch' | 'request' | 'framework'>): string {
  const reach = request.tasks > 1 || request.nodes_min > 1 ? 'distributed' : 'single';
  if (framework === 'mpi') return 'MPI';
  if (framework === 'pytorch') return `PyTorch ${reach}`;
  if (framework === 'tensorflow') return `TensorFlow ${reach}`;
  if (launch === 'batch') return 'Batch script';
  return request.tasks > 1 ? `Gang of ${request.tasks}` : 'Single task';
}

export function typeOf(job: Pick<JobSummary, 'launch' | 'request' | 'array' | 'framework'>): string {
  return job.array ? `${shapeOf(job)}, array` : shapeOf(job);
}

export function resourcesOf(request: JobSummary['request']): string {
  const parts = [];
  if (request.gpus_milli > 0)
    parts.push(`${thousandths(request.gpus_milli)} GPU${request.gpus_milli === 1000 ? '' : 's'}`);
  if (request.cores > 0) parts.push(`${request.cores} core${request.cores === 1 ? '' : 's'}`);
  if (request.memory_bytes > 0) parts.push(bytes(request.memory_bytes));
  if (request.nodes_min > 1) parts.push(`${request.nodes_min} nodes`);
  return parts.join(' · ') || '–';
}
