// Topics: what a record of the log may have changed of what is shown.
import type { ApiRecord } from './types';

export type Topic = string; // "jobs", "job:7", "nodes", "queues", "objects", "keys"

const OF_NODES =
  /^(Node|FindingReported|RemedyEnded|MoveNode|DeclareNodeLost|PreflightFailed|ForeignAllocation|ExecutorContact|ExecutorNode)/;
const OF_PLACES = /^(Launch|PlacementEnded|EndJob|Stop|Requeue|LaunchFailed)$/;

export function topicsOf(record: ApiRecord): Topic[] {
  const topics: Topic[] = [];
  if (record.job !== undefined) topics.push('jobs', `job:${record.job}`);
  if (OF_PLACES.test(record.kind)) topics.push('nodes', 'queues');
  if (OF_NODES.test(record.kind)) topics.push('nodes');
  // What others hold counts in queues.
  if (/^(JobSubmitted|Promise|Withdraw)$|^ForeignAllocation/.test(record.kind)) topics.push('queues');
  if (/^Object/.test(record.kind)) topics.push('objects', 'queues', 'nodes');
  if (/^Key/.test(record.kind)) topics.push('keys');
  return topics;
}

// Whether something that depends on `wanted` is stale after `changed`.
export function concerns(wanted: readonly Topic[], changed: ReadonlySet<Topic>): boolean {
  return wanted.some((topic) => changed.has(topic));
}
