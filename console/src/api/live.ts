// Live: the one stream of events of this tab. It tells which topics have changed, at most a few
// times a second, and whether the connection stands. A stream that breaks is resumed behind the last
// event that was heard; where that is not possible everything counts as changed.
import { ApiError, send } from './http';
import { EventReader, type ServerEvent } from './sse';
import { topicsOf, type Topic } from './topics';
import type { ApiRecord } from './types';

type Heard = (changed: ReadonlySet<Topic>) => void;
const GATHER_MS = 150;
const AGAIN_MS = 2000;
const EVERYTHING = '*';

const listeners = new Set<Heard>();
const stateListeners = new Set<() => void>();
let stop: AbortController | null = null;
let lastId = '';
let gathered = new Set<Topic>();
let timer: number | undefined;
let connected = true;

function tellSoon(topics: readonly Topic[]) {
  for (const topic of topics) gathered.add(topic);
  if (gathered.size === 0) return;
  timer ??= window.setTimeout(() => {
    timer = undefined;
    const changed = gathered;
    gathered = new Set();
    listeners.forEach((hear) => hear(changed));
  }, GATHER_MS);
}

function setConnected(now: boolean) {
  if (connected === now) return;
  connected = now;
  stateListeners.forEach((tell) => tell());
}

function take(event: ServerEvent) {
  if (event.id) lastId = event.id;
  if (event.data) tellSoon(topicsOf(JSON.parse(event.data) as ApiRecord));
}

// Until the stream ends, which every stream does.
async function listen(signal: AbortSignal) {
  const headers: Record<string, string> = { Accept: 'text/event-stream' };
  if (lastId) headers['Last-Event-ID'] = lastId;
  const response = await send('/v1/events', { headers, signal });
  setConnected(true);
  if (!lastId) tellSoon([EVERYTHING]);
  const reader = new EventReader();
  const pieces = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await pieces.read();
    if (done) return;
    reader.take(value).forEach(take);
  }
}

async function keepListening(signal: AbortSignal) {
  while (!signal.aborted) {
    try {
      await listen(signal);
    } catch (error) {
      if (signal.aborted) return;
      // What came before is not kept any more (404), or nobody is signed in (401).
      if (error instanceof ApiError && error.status >= 400) lastId = '';
    }
    setConnected(false);
    await new Promise((wake) => setTimeout(wake, AGAIN_MS));
  }
}

export function startLive() {
  if (stop) return;
  stop = new AbortController();
  void keepListening(stop.signal);
}

export function stopLive() {
  stop?.abort();
  stop = null;
  lastId = '';
  connected = true;
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
