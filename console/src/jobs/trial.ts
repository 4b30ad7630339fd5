// Which field of the form a refusal is about. Pure.
const NAMES: Record<string, string> = {
  gpus_milli: 'gpus',
  share_milli: 'gpus',
  memory_bytes: 'memory',
  time_limit_s: 'time_limit',
  time_limit_us: 'time_limit',
  command: 'script',
};
const FIELDS = [
  'script',
  'name',
  'queue',
  'tasks',
  'gpus',
  'cores',
  'memory',
  'time_limit',
  'project',
  'priority',
  'label',
];

// "groups[0].per_task.gpus_milli": "gpus"; "" where the form has no such field.
export function fieldOf(place: string | undefined): string {
  const last =
    (place ?? '')
      .split(/[.[\]]+/)
      .filter((part) => part && !/^\d+$/.test(part))
      .at(-1) ?? '';
  const name = NAMES[last] ?? last;
  return FIELDS.includes(name) ? name : '';
}
