// The queues as the tree that they are, in the order in which a page shows them. Pure.
import type { QueueInUse } from '../api/types';

export interface QueueRow {
  queue: QueueInUse;
  depth: number;
}

export function treeOf(queues: readonly QueueInUse[]): QueueRow[] {
  const below = new Map<string, QueueInUse[]>();
  const names = new Set(queues.map((queue) => queue.name as string));
  for (const queue of queues) {
    const parent = typeof queue.parent === 'string' && names.has(queue.parent) ? queue.parent : '';
    below.set(parent, [...(below.get(parent) ?? []), queue]);
  }
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
