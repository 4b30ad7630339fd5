// Calls of the API. Everything is same-origin; the session's cookie says who asks, and no script can
// read it.
import type { Problem } from './types';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly field?: string,
  ) {
    super(detail);
  }
}

type Listener = () => void;
const onSignedOut = new Set<Listener>();

// `listener` is called whenever an answer says that nobody is signed in.
export function whenSignedOut(listener: Listener): () => void {
  onSignedOut.add(listener);
  return () => onSignedOut.delete(listener);
}

async function problemOf(response: Response): Promise<ApiError> {
  try {
    const problem = (await response.json()) as Problem;
    return new ApiError(response.status, problem.code, problem.detail, problem.field);
  } catch {
    return new ApiError(response.status, 'no_answer', `The server answered ${response.status}.`);
  }
}

// What public/early.js has asked for, until it is taken.
const early = (globalThis as { doveEarly?: Map<string, Promise<Response>> }).doveEarly;
export const earlyPaths = () => [...(early?.keys() ?? [])];

// None where it was not asked for, or did not reach the server.
async function takeEarly(path: string): Promise<Response | undefined> {
  const answer = early?.get(path);
  early?.delete(path);
  return answer?.catch(() => undefined);
}

export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response =
      (init.method ? undefined : await takeEarly(path)) ?? (await fetch(path, { credentials: 'same-origin', ...init }));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The server cannot be reached. Trying again helps once it is back.');
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && !path.startsWith('/v1/sign-in')) onSignedOut.forEach((tell) => tell());
  throw problem;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send(path, { headers: { Accept: 'application/json' }, signal })).json() as Promise<T>;
}

export async function change<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const response = await send(path, {
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

// "/v1/jobs?user=ann": parameters that are empty are left out.
export function withQuery(path: string, query: Record<string, string | number | undefined | null>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}
