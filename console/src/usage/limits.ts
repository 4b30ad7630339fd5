// The limits that a form can set, and how it writes them. Pure.
import { thousandths } from '../elements/format';

export type Limits = Record<string, number | null | undefined>;

export const LIMITS = [
  { field: 'gpus', says: 'GPUs at once' },
  { field: 'cores', says: 'Cores at once' },
  { field: 'jobs_running', says: 'Jobs running' },
  { field: 'jobs_waiting', says: 'Jobs waiting' },
  { field: 'gpu_hours_month', says: 'GPU hours a month' },
] as const;
type Field = (typeof LIMITS)[number]['field'];

// "": there is no limit. -1 is how the API may say so.
export function shownLimit(limits: Limits, field: Field): string {
  if (field === 'gpus')
    return typeof limits.gpus_milli === 'number' && limits.gpus_milli >= 0 ? thousandths(limits.gpus_milli) : '';
  if (field === 'gpu_hours_month' && typeof limits.gpu_ms_month === 'number' && limits.gpu_ms_month >= 0)
    return String(Math.round(limits.gpu_ms_month / 3_600_000));
  const value = limits[field];
  return value === null || value === undefined || value < 0 ? '' : String(value);
}

// What the API takes: null where a field that had a limit is empty now.
export function limitsOf(form: FormData, had: Limits): Record<string, number | string | null> {
  const limits: Record<string, number | string | null> = {};
  for (const { field } of LIMITS) {
    const text = String(form.get(field) ?? '').trim();
    if (text !== '') limits[field] = field === 'gpus' ? text : Number(text);
    else if (shownLimit(had, field) !== '') limits[field] = null;
  }
  return limits;
}
