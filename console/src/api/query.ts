// Query: what a page reads, kept until an event says that it is stale, and read again at a pace that
// the server bears: never sooner than ten times what the last answer took.
import { useCallback, useEffect, useSyncExternalStore } from 'react';
import { ApiError, earlyPaths, get } from './http';
import { onChanged } from './live';
import { getAll } from './pages';
import { concerns, type Topic } from './topics';

const KEPT = 60;
const PACE_MS = 700;
const RETRY_MS = 5000;

export interface Read<T> {
  data?: T;
  error?: ApiError;
}

interface Entry {
  read: Read<unknown>;
  list?: string; // the member of its answer whose pages are all read
  topics: readonly Topic[];
  users: Set<() => void>;
  busy: boolean;
  stale: boolean;
  paceMs: number;
  readAt: number;
  timer?: number;
  usedAt: number;
}

const NOTHING: Read<never> = {};
const entries = new Map<string, Entry>();

// Before one more comes: whoever asks for that one does not show it yet, as those do that may go.
function makeRoom() {
  if (entries.size < KEPT) return;
  const idle = [...entries].filter(([, entry]) => entry.users.size === 0).sort((a, b) => a[1].usedAt - b[1].usedAt);
  for (const [path] of idle.slice(0, entries.size - KEPT + 1)) entries.delete(path);
}

function entryOf(path: string, topics: readonly Topic[], list?: string): Entry {
  let entry = entries.get(path);
  if (!entry) {
    makeRoom();
    entry = {
      read: NOTHING,
      list,
      topics,
      users: new Set(),
      busy: false,
      stale: true,
      paceMs: PACE_MS,
      readAt: 0,
      usedAt: 0,
    };
    entries.set(path, entry);
  }
  entry.topics = topics;
  entry.usedAt = Date.now();
  return entry;
}

function show(entry: Entry, read: Read<unknown>) {
  entry.read = read;
  entry.users.forEach((tell) => tell());
}

async function readNow(path: string, entry: Entry) {
  entry.busy = true;
  entry.stale = false;
  const began = performance.now();
  try {
    show(entry, { data: entry.list ? await getAll(path, entry.list) : await get<unknown>(path) });
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError(0, 'failed', String(error));
    show(entry, { data: entry.read.data, error: problem });
    if (problem.status === 0 || problem.status >= 500) entry.stale = true;
  }
  entry.busy = false;
  entry.readAt = Date.now();
  entry.paceMs = Math.max(entry.read.error ? RETRY_MS : PACE_MS, 10 * (performance.now() - began));
  if (entry.stale) plan(path, entry);
}

function plan(path: string, entry: Entry) {
  if (entry.busy || entry.timer !== undefined || entry.users.size === 0 || document.hidden) return;
  const wait = Math.max(0, entry.readAt + entry.paceMs - Date.now());
  entry.timer = window.setTimeout(() => {
    entry.timer = undefined;
    if (entry.users.size > 0 && !document.hidden) void readNow(path, entry);
  }, wait);
}

onChanged((changed) => {
  for (const [path, entry] of entries) {
    if (!changed.has('*') && !concerns(entry.topics, changed)) continue;
    entry.stale = true;
    plan(path, entry);
  }
});

if (typeof document !== 'undefined') {
  document.addEventListener('visibilitychange', () => {
    for (const [path, entry] of entries) if (entry.stale) plan(path, entry);
  });
}

// Takes what public/early.js has asked for. What has come already is there when this is done, so that the first drawing has it;
// nothing is waited for.
export async function takeEarlyReads() {
  for (const path of earlyPaths()) void readNow(path, entryOf(path, []));
  await new Promise((wake) => setTimeout(wake));
}

// Says that what depends on `topics` is stale, after a change of one's own.
export function refresh(...topics: Topic[]) {
  const changed = new Set(topics);
  for (const [path, entry] of entries) {
    if (!concerns(entry.topics, changed)) continue;
    entry.stale = true;
    entry.readAt = 0;
    plan(path, entry);
  }
}

export function forgetAll() {
  entries.clear();
}

// What is at `path` (none while it is null), read again when one of `topics` changes. `list`: a list of the answer that comes a
// page at a time, and is read to its end.
export function useQuery<T>(path: string | null, topics: readonly Topic[], list?: string): Read<T> {
  const key = topics.join();
  const subscribe = useCallback(
    (tell: () => void) => {
      if (path === null) return () => {};
      const entry = entryOf(path, key.split(','), list);
      entry.users.add(tell);
      if (entry.stale) {
        if (!entry.busy && entry.readAt === 0) void readNow(path, entry);
        else plan(path, entry);
      }
      return () => entry.users.delete(tell);
    },
    [path, key, list],
  );
  return useSyncExternalStore(subscribe, () =>
    path === null ? NOTHING : (entries.get(path)?.read ?? NOTHING),
  ) as Read<T>;
}

// `fn` is called with what changed, while the caller is shown.
export function useChanged(fn: (changed: ReadonlySet<Topic>) => void) {
  useEffect(() => onChanged(fn), [fn]);
}
