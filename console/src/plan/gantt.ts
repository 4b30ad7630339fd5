// The plan as bars in time: reservations, promised starts, and what runs until its time limit. Pure.
import type { JobSummary } from '../api/types';

export interface Bar {
  key: string;
  name: string;
  tone: 'reserved' | 'outage' | 'promised' | 'running';
  from: number; // microseconds
  to: number | null; // null: nobody knows
  path: string | null;
  detail: string;
}

export interface ReservationLike {
  name: string;
  starts_at_us?: number | null;
  ends_at_us?: number | null;
  outage?: boolean | null;
  nodes?: string[] | null;
}

export const ROWS = 200; // as many are drawn

function endOf(job: JobSummary, from: number): number | null {
  const limit = job.time_limit_us ?? (job.time_limit_s ? job.time_limit_s * 1e6 : 0);
  return limit > 0 ? from + limit : null;
}

export function barsOf(
  reservations: readonly ReservationLike[],
  waiting: readonly JobSummary[],
  running: readonly JobSummary[],
): Bar[] {
  const bars: Bar[] = [];
  for (const one of reservations) {
    if (one.starts_at_us == null) continue;
    bars.push({
      key: `r-${one.name}`,
      name: one.name,
      tone: one.outage ? 'outage' : 'reserved',
      from: one.starts_at_us,
      to: one.ends_at_us ?? null,
      path: null,
      detail: `${one.outage ? 'outage' : 'reservation'} of ${one.nodes?.join(', ') || 'nodes'}`,
    });
  }
  const jobBar = (job: JobSummary, tone: 'promised' | 'running', from: number): Bar => ({
    key: `j-${job.id}`,
    name: `${job.id} ${job.name}`,
    tone,
    from,
    to: job.ends_by_us ?? endOf(job, from),
    path: `/jobs/${job.id}`,
    detail:
      tone === 'promised'
        ? 'starts by then'
        : job.ends_by_us || job.time_limit_s || job.time_limit_us
          ? 'runs, ends by its limit'
          : 'runs, without a limit',
  });
  for (const job of waiting) if (job.promised_start_us) bars.push(jobBar(job, 'promised', job.promised_start_us));
  for (const job of running) if (job.started_at_us) bars.push(jobBar(job, 'running', job.started_at_us));
  return bars;
}

// The instants from which to which the plan is drawn: what is coming, within two weeks.
export function windowOf(bars: readonly Bar[], nowUs: number): [number, number] {
  const ends = bars.map((bar) => Math.max(bar.to ?? 0, bar.from)).filter((at) => at > nowUs);
  const until = Math.min(nowUs + 14 * 86400e6, Math.max(nowUs + 3600e6, ...ends));
  return [nowUs - (until - nowUs) * 0.15, until + (until - nowUs) * 0.05];
}

// Round instants between `from` and `to`, about `most` of them.
export function ticksOf(from: number, to: number, most: number): number[] {
  const steps = [60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800].map((seconds) => seconds * 1e6);
  const step = steps.find((one) => (to - from) / one <= most) ?? steps.at(-1)!;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}
