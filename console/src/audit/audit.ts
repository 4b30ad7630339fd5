// Who did what, or was refused what, as the page of the audit says it. Pure.
import { withQuery } from '../api/http';
import type { ApiRecord } from '../api/types';
import { words } from '../elements/format';

export type AuditRecord = Omit<ApiRecord, 'data'> & { principal?: string; data?: Record<string, unknown> };

export interface Audit {
  events: AuditRecord[];
  next: number | null;
}

export interface Entry {
  who: string;
  from: string;
  what: string;
  about: string;
  refused: boolean;
}

export const PAGE = 50;
export const REFUSED = 'CallsRefused';

// Kinds by which people look for something; any other is in the address.
export const KINDS: [string, string][] = [
  ['', 'Everything'],
  [REFUSED, 'Refused'],
  ['JobSubmitted', 'Jobs submitted'],
  ['JobCancelled', 'Jobs cancelled'],
  ['ObjectApplied,ObjectDeleted', 'What was declared'],
  ['KeyIssued,KeyRevoked', 'Sign-ins and keys'],
  ['JobShared', 'Sessions shared'],
];

export function auditPath(user: string, kind: string, after?: string | null): string {
  return withQuery('/v1/events', { audit: 1, order: 'newest', user, kind, limit: PAGE, after });
}

const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

// "ObjectApplied": "Object applied".
function kindText(kind: string): string {
  return words(kind.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

function aboutOf({ job, data = {} }: AuditRecord): string {
  const parts = job === undefined ? [] : [`job ${job}`];
  for (const of of ['object', 'key']) {
    const one = data[of] as Record<string, unknown> | undefined;
    if (!one) continue;
    parts.push([text(one.kind), text(one.name)].filter(Boolean).join(' '));
    if (of === 'key' && one.user) parts.push(`of ${text(one.user)}`);
  }
  if (data.object_kind) parts.push(`${text(data.object_kind)} ${text(data.name)}`);
  return parts.join(' ');
}

export function entryOf(record: AuditRecord): Entry {
  const { kind, data = {} } = record;
  if (kind === REFUSED) {
    const times = Number(data.times ?? 1);
    return {
      who: text(data.who) || 'nobody that is known',
      from: text(data.address),
      what: `Refused: ${text(data.operation)}`,
      about: `${text(data.code)}${times > 1 ? `, ${times} times` : ''}`,
      refused: true,
    };
  }
  return { who: record.principal ?? '', from: '', what: kindText(kind), about: aboutOf(record), refused: false };
}
