// Live: the one stream of events of this tab. It tells which topics have changed, at most a few
// times a second, and whether the connection stands.
import type { ApiRecord } from './types';
import { topicsOf, type Topic } from './topics';

type Heard = (changed: ReadonlySet<Topic>) => void;
const GATHER_MS = 150;
const AGAIN_MS = 3000;

const listeners = new Set<Heard>();
const stateListeners = new Set<() => void>();
let source: EventSource | null = null;
let lastId = '';
let gathered = new Set<Topic>();
let timer: number | undefined;
let again: number | undefined;
let connected = true;

function flush() {
  timer = undefined;
  const changed = gathered;
  gathered = new Set();
  listeners.forEach((hear) => hear(changed));
}

function setConnected(now: boolean) {
  if (connected === now) return;
  connected = now;
  stateListeners.forEach((tell) => tell());
}

function take(event: MessageEvent<string>) {
  lastId = event.lastEventId || lastId;
  for (const topic of topicsOf(JSON.parse(event.data) as ApiRecord)) gathered.add(topic);
  if (gathered.size > 0) timer ??= window.setTimeout(flush, GATHER_MS);
}

function reopen(everything: boolean) {
  source?.close();
  source = null;
  if (everything) {
    lastId = '';
    gathered.add('*');
    timer ??= window.setTimeout(flush, GATHER_MS);
  }
  again ??= window.setTimeout(() => {
    again = undefined;
    open();
  }, AGAIN_MS);
}

function open() {
  if (source) return;
  const opened = new EventSource(lastId ? `/v1/events?after=${lastId}` : '/v1/events');
  source = opened;
  opened.onopen = () => setConnected(true);
  opened.onmessage = take;
  opened.addEventListener('overflow', () => reopen(true));
  opened.onerror = () => {
    setConnected(false);
    // Refused for good (the records were forgotten, or nobody is signed in): begin anew from now.
    if (opened.readyState === EventSource.CLOSED) reopen(true);
  };
}

export function startLive() {
  open();
}

export function stopLive() {
  source?.close();
  source = null;
  window.clearTimeout(again);
  again = undefined;
  lastId = '';
}

export function onChanged(hear: Heard): () => void {
  listeners.add(hear);
  return () => listeners.delete(hear);
}

export function onConnection(tell: () => void): () => void {
  stateListeners.add(tell);
  return () => stateListeners.delete(tell);
}

export const isConnected = () => connected;
