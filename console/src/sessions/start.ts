// What the form for a new session says, as a submission: the app's job with one's own fields laid over. Pure; the server
// judges what is in it.
import type { StartableApp } from '../api/types';

export interface Wanted {
  name: string;
  queue: string;
  gpus: string;
  cores: string;
  memory: string;
  time_limit: string;
  begin: string; // as the browser's field for a day and a time has it, in the reader's time zone
  project: string;
  image: string;
  folder: string;
  operand: string;
  program: string;
}

const TEXTS = ['name', 'queue', 'gpus', 'memory', 'time_limit', 'project'] as const;
type Fields = Record<string, unknown>;

function wordsOf(app: StartableApp, wanted: Wanted): Fields {
  const command = [...((app.job as { command?: string[] }).command ?? [])];
  if (!app.built_in || command.length === 0) return {};
  if (wanted.program && app.program_at !== undefined) command[app.program_at] = wanted.program;
  if (wanted.operand) command.push(wanted.operand);
  return { command };
}

// A job in an image sees the folder as a volume; one without has the node's files anyway.
function placeOf(app: StartableApp, { image, folder }: Wanted): Fields {
  const declared = (app.job.container ?? {}) as Fields & { volumes?: unknown[] };
  if (!image && !declared.image) return folder ? { workdir: folder } : {};
  const container: Fields = { ...declared };
  if (image) container.image = image;
  if (folder) {
    container.volumes = [...(declared.volumes ?? []), { source: folder, target: folder, writable: true }];
    container.workdir = folder;
  }
  return { container };
}

export function startOf(app: StartableApp, form: Partial<Wanted>): Fields {
  const wanted = Object.fromEntries(
    ['begin', 'image', 'folder', 'operand', 'program', 'cores', ...TEXTS].map((field) => [
      field,
      form[field as keyof Wanted]?.trim() ?? '',
    ]),
  ) as unknown as Wanted;
  const job: Fields = { ...app.job, ...wordsOf(app, wanted), ...placeOf(app, wanted) };
  for (const field of TEXTS) if (wanted[field]) job[field] = wanted[field];
  if (wanted.cores) job.cores = Number(wanted.cores);
  if (wanted.begin) job.begin_at_us = new Date(wanted.begin).getTime() * 1000;
  return job;
}
