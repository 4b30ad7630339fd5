// What each cell of the heat-map is coloured by. Pure.
import type { JobSummary, Job, NodeBrief } from '../api/types';
import { count, words } from '../elements/format';
import { IDLE_PERCENT } from '../jobs/use';

export type By = 'taken' | 'use' | 'health' | 'holder' | 'queue';
export const BY: { by: By; name: string }[] = [
  { by: 'taken', name: 'Taken' },
  { by: 'use', name: 'Use' },
  { by: 'health', name: 'Health' },
  { by: 'holder', name: 'Holder' },
  { by: 'queue', name: 'Queue' },
];

export type Holders = Map<string, Job>; // by "node/device"

// The jobs that hold devices, by the places of their last attempts.
export function holdersOf(jobs: readonly Job[]): Holders {
  const holders: Holders = new Map();
  for (const job of jobs) {
    const attempt = job.attempts.at(-1);
    if (!attempt || attempt.stage === 'ended') continue;
    for (const placement of attempt.placements) {
      if (placement.stage === 'ended') continue;
      for (const grant of placement.devices) holders.set(`${placement.node_name}/${grant.device}`, job);
    }
  }
  return holders;
}

// What an executor (a Slurm) runs for somebody else, and we did not place.
export type Foreign = Omit<NonNullable<NodeBrief['foreign']>[number], 'devices'>;
export type Strangers = Map<string, Foreign>; // by "node/device"

export function strangersOf(nodes: readonly Pick<NodeBrief, 'name' | 'foreign'>[]): Strangers {
  const strangers: Strangers = new Map();
  for (const { name, foreign } of nodes)
    for (const one of foreign ?? []) for (const device of one.devices) strangers.set(`${name}/${device}`, one);
  return strangers;
}

// "slurm job 77 of ada (main)".
export function foreignText({ executor, id, user, partition }: Foreign): string {
  return `${executor} job ${id} of ${user}${partition ? ` (${partition})` : ''}`;
}

// What a device is coloured by: whom it is held by, or for which queue.
export const wordOf = {
  holder: { ours: (job: JobSummary) => job.user, foreign: (one: Foreign) => `${one.user} (${one.executor})` },
  queue: { ours: (job: JobSummary) => job.queue, foreign: (one: Foreign) => one.queue ?? `${one.executor}, no queue` },
};

// Tones are names of design tokens (--heat-NAME), so that both modes have their own.
const HEALTH: Record<string, string> = {
  ready: 'good',
  drained: 'hold',
  draining: 'hold',
  onboard: 'busy',
  test: 'busy',
  suspect: 'hold',
  repair: 'bad',
  broken: 'bad',
  silent: 'bad',
  lost: 'bad',
  expelled: 'bad',
};
const PALETTE = 8;

export function tones(names: readonly string[]): Map<string, string> {
  return new Map([...new Set(names)].sort().map((name, at) => [name, `c${at % PALETTE}`]));
}

export function takenTone(freeMilli: number): string {
  if (freeMilli >= 1000) return 'free';
  return freeMilli <= 0 ? 'full' : 'part';
}

// The tone of a device whose job is not among those that were read: the reader may not see it, or there are too many.
export function unheldTone(node: Pick<NodeBrief, 'devices_free_milli'>, device: number): string {
  return (node.devices_free_milli[device] ?? 1000) >= 1000 ? 'free' : 'none';
}

// How busy a device was lately, as its node measured it.
export function useTone(node: Pick<NodeBrief, 'devices_free_milli' | 'devices_use_percent'>, device: number): string {
  const use = node.devices_use_percent?.[device];
  if (use !== undefined && use !== null) return use < IDLE_PERCENT ? 'hold' : use < 50 ? 'part' : 'full';
  return unheldTone(node, device);
}

export function healthTone(node: Pick<NodeBrief, 'state' | 'findings'>, device: number): string {
  const finding = node.findings.find((one) => (one.device ?? -1) === device && one.severity !== 'good');
  if (finding) return finding.severity === 'warning' ? 'hold' : 'bad';
  return HEALTH[node.state] ?? 'none';
}

export function groupOf(node: Pick<NodeBrief, 'topology'>): string {
  return node.topology.map((unit) => unit.name).join(' / ') || 'No rack';
}

export function tip(
  node: NodeBrief,
  device: number,
  holder: JobSummary | undefined,
  stranger: Foreign | undefined,
): string {
  const free = node.devices_free_milli[device];
  const lines = [`${node.name}, GPU ${device}${node.gpu_model ? ` (${node.gpu_model})` : ''}`];
  if (holder) lines.push(`job ${holder.id} ${holder.name} of ${holder.user}, queue ${holder.queue}`);
  if (stranger) lines.push(foreignText(stranger));
  else if (!holder && free !== undefined) lines.push(free >= 1000 ? 'free' : `${(1000 - free) / 10} % taken`);
  const use = node.devices_use_percent?.[device];
  if (use !== undefined && use !== null) lines.push(`${Math.round(use)} % busy`);
  if (node.state !== 'ready') lines.push(words(node.state));
  if (node.jobs.length > 0 && !holder) lines.push(`${count(node.jobs.length, 'job')} on the node`);
  return lines.join(' · ');
}
