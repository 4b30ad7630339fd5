// What the page of sessions shows of a job with an app. Pure.
import { withQuery } from '../api/http';
import type { Job, JobSummary } from '../api/types';
import { duration, words } from '../elements/format';

export type SessionJob = JobSummary & Pick<Job, 'app' | 'image' | 'shared_with' | 'session_url'>;

export interface Sessions {
  jobs: SessionJob[];
  next: number | null;
}

export const PAGE = 50;

export function sessionsPath(state: 'open' | 'stopped', user: string, after?: string | null): string {
  const states = state === 'open' ? 'waiting,active' : 'held,ended';
  return withQuery('/v1/jobs', { app: 1, state: states, user, order: 'newest', limit: PAGE, after });
}

// "Running", "Waiting", "Stopped": how it ended is told beside it. One that is held waits to be started again.
export function statusOf(job: Pick<JobSummary, 'phase' | 'state'>): { word: string; how: string } {
  if (job.state === 'held') return { word: 'stopped', how: '' };
  return job.phase === 'ended' ? { word: 'stopped', how: words(job.state) } : { word: job.state, how: '' };
}

const KINDS: Record<string, string> = {
  notebook: 'JupyterLab',
  code: 'VS Code',
  tensorboard: 'TensorBoard',
  desktop: 'Desktop',
};

export function appName(name: string | undefined): string {
  return name ? (KINDS[name] ?? words(name)) : '–';
}

// "in 9 min 20 s", and in the last moments "now".
export function timeLeft(endsUs: number, nowUs: number): string {
  const seconds = Math.ceil((endsUs - nowUs) / 1e6);
  if (seconds <= 0) return 'now';
  const tail = seconds % 60;
  return seconds < 3600 && seconds >= 60 && tail > 0 ? `in ${duration(seconds)} ${tail} s` : `in ${duration(seconds)}`;
}

// Names as people type them: with commas or spaces between.
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}
