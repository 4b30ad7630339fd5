// What somebody uses of what they may, as a page writes it. Pure.
import { bytes, thousandths, words } from '../elements/format';

export interface Quota {
  level: string;
  name: string;
  resource: string;
  used: number;
  limit: number;
  raised_by: string;
}

// "gpus_milli:H200": "GPUs (H200)".
export function resourceName(resource: string): string {
  const [kind = '', model] = resource.split(':');
  const name = { gpus_milli: 'GPUs', memory_bytes: 'Memory' }[kind] ?? words(kind);
  return model ? `${name} (${model})` : name;
}

export function amount(resource: string, value: number): string {
  if (resource.startsWith('gpus_milli')) return thousandths(value);
  return resource === 'memory_bytes' ? bytes(value) : value.toLocaleString('en');
}
