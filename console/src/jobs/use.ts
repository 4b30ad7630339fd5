// How a job uses what it holds, as lines to plot. Pure.
import type { JobUse } from '../api/types';
import { count } from '../elements/format';

export const MEASURED_EVERY_MS = 10_000; // as often as nodes tell
export const IDLE_PERCENT = 5; // below it a GPU that is held does nothing worth its keep

export interface UseLines {
  atS: number[]; // where each step begins, and where the last one ends
  lines: { name: string; colour: string; values: (number | null)[] }[]; // percent
}

const isMeasured = (values: readonly (number | null)[]) => values.some((value) => value !== null);

// What was never measured has no line. A gang's node that does least stands beside the mean.
export function linesOf(use: JobUse): UseLines {
  if (use.begin === null) return { atS: [], lines: [] };
  const begin = Date.parse(use.begin) / 1000;
  const lines = [
    { name: 'GPU', colour: '--heat-c0', values: use.gpu.mean },
    ...(use.nodes.length > 1 ? [{ name: 'GPU, least node', colour: '--heat-c1', values: use.gpu.least }] : []),
    { name: 'GPU memory', colour: '--heat-c2', values: use.gpu_memory.mean },
    { name: 'CPU', colour: '--heat-c3', values: use.cpu.mean },
  ];
  return {
    atS: Array.from({ length: use.cpu.mean.length + 1 }, (_, at) => begin + at * use.step_s),
    lines: lines
      .filter(({ values }) => isMeasured(values))
      .map((line) => ({ ...line, values: [...line.values, line.values.at(-1)!] })),
  };
}

const percent = (value: number) => `${Math.round(value)} %`;

// "GPU 83 %, CPU 9 %": each line's last value.
export function nowText({ lines }: UseLines): string {
  return lines
    .map(({ name, values }) => `${name} ${percent(values.filter((value) => value !== null).at(-1)!)}`)
    .join(', ');
}

// The nodes that do far less than the others, for somebody to look at.
export function laggards(use: JobUse): string {
  const last = use.gpu.mean.filter((value) => value !== null).at(-1);
  if (use.nodes.length < 2 || last === undefined) return '';
  const few = use.nodes.filter(({ gpu }) => gpu !== null && gpu < last / 2).slice(0, 3);
  return few.map(({ node, gpu }) => `${node} (${percent(gpu!)})`).join(', ');
}

// Its GPUs that do nothing, for somebody to ask for fewer.
export function idleGpus(use: JobUse): string {
  const lists = use.nodes.flatMap(({ node, devices }) => {
    const idle = devices.filter(({ gpu }) => gpu < IDLE_PERCENT).map(({ device }) => device);
    return idle.length > 0 ? [`${node}: ${idle.join(', ')}`] : [];
  });
  return lists.slice(0, 3).join('; ') + (lists.length > 3 ? ` and on ${count(lists.length - 3, 'more node')}` : '');
}
