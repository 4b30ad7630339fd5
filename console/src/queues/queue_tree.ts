// The queues as the tree that they are, in the order in which a page shows them. Pure.
import type { QueueInUse } from '../api/types';

export interface QueueRow {
  queue: QueueInUse;
  depth: number;
}

// The children of each queue by its name; '': those at the top.
function childrenOf(queues: readonly QueueInUse[]): Map<string, QueueInUse[]> {
  const below = new Map<string, QueueInUse[]>();
  const names = new Set(queues.map((queue) => queue.name as string));
  for (const queue of queues) {
    const parent = typeof queue.parent === 'string' && names.has(queue.parent) ? queue.parent : '';
    below.set(parent, [...(below.get(parent) ?? []), queue]);
  }
  return below;
}

export function treeOf(queues: readonly QueueInUse[]): QueueRow[] {
  const below = childrenOf(queues);
  const rows: QueueRow[] = [];
  const add = (parent: string, depth: number) => {
    for (const queue of below.get(parent) ?? []) {
      rows.push({ queue, depth });
      if (depth < 64) add(queue.name as string, depth + 1);
    }
  };
  add('', 0);
  return rows;
}

export interface Amounts {
  gpus_milli?: number | null;
  cores?: number | string | null;
}

// What a queue uses beyond what it is guaranteed, in thousandths of GPUs.
export function borrowed(used: number, guaranteed: Amounts | null | undefined): number {
  return Math.max(0, used - (guaranteed?.gpus_milli ?? 0));
}

const guaranteeOf = (queue: QueueInUse) => (queue.guaranteed as Amounts | null | undefined)?.gpus_milli ?? 0;

// The part of each queue's guarantee that others use now, in thousandths of GPUs, by its name. What is borrowed is
// first what nobody is guaranteed; the rest comes from the siblings that leave some of theirs unused, from each by how
// much that is.
export function lent(queues: readonly QueueInUse[], clusterMilli: number): Map<string, number> {
  const byName = new Map(queues.map((queue) => [queue.name as string, queue]));
  const lends = new Map<string, number>();
  for (const [parent, siblings] of childrenOf(queues)) {
    const above = byName.get(parent);
    const whole = above ? Math.max(guaranteeOf(above), above.usage.gpus_milli) : clusterMilli;
    const sum = (of: (queue: QueueInUse) => number) => siblings.reduce((total, queue) => total + of(queue), 0);
    const unusedOf = (queue: QueueInUse) => Math.max(0, guaranteeOf(queue) - queue.usage.gpus_milli);
    const unused = sum(unusedOf);
    const nobodys = Math.max(0, whole - sum(guaranteeOf));
    const taken = sum((queue) => borrowed(queue.usage.gpus_milli, queue.guaranteed as Amounts)) - nobodys;
    const part = unused > 0 ? Math.min(1, Math.max(0, taken) / unused) : 0;
    for (const queue of siblings) lends.set(queue.name as string, unusedOf(queue) * part);
  }
  return lends;
}
