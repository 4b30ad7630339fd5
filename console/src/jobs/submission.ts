// What the form says, as a submission of the API. Pure; the server judges what is in it.
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
