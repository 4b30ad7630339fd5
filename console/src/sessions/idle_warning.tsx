// A session that nobody seems to use: when it ends, why, and how to keep it.
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { ApiError, change } from '../api/http';
import { refresh } from '../api/query';
import type { JobSummary } from '../api/types';
import { Trouble } from '../elements/elements';
import { exact } from '../elements/format';
import { referenceOf } from '../jobs/filters';
import { mayAct } from '../session/may';
import { useSession } from '../session/session';
import { timeLeft } from './sessions';

function useSecond(): number {
  const [now, setNow] = useState(() => Date.now() * 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() * 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function TimeLeft({ us }: { us: number }) {
  const now = useSecond();
  return (
    <time role="timer" dateTime={new Date(us / 1000).toISOString()} title={exact(us)}>
      {timeLeft(us, now)}
    </time>
  );
}

export async function keep(job: Pick<JobSummary, 'id' | 'array'>, how: { for?: string } = {}) {
  await change('POST', `/v1/jobs/${referenceOf(job)}/keep`, how);
  refresh('jobs', `job:${job.id}`);
}

export function IdleWarning({ job, linked = false }: { job: JobSummary; linked?: boolean }) {
  const { me } = useSession();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  if (!job.idle || job.phase === 'ended') return null;
  const keepIt = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await keep(job);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
    setBusy(false);
  };
  const named = linked ? <Link href={`/jobs/${referenceOf(job)}`}>{job.name}</Link> : 'This session';
  return (
    <section className="idle-warning" aria-label={`${job.name} is idle`}>
      <p>
        <strong>
          {named} ends <TimeLeft us={job.idle.ends_at_us ?? 0} />
        </strong>
        {job.idle.check === 'lifetime' ? ', at the end of its lifetime' : ': nobody seems to use it'}.{' '}
        <span className="faint">
          {job.idle.evidence} (rule {job.idle.rule})
        </span>
      </p>
      {job.idle.check !== 'lifetime' && mayAct(me, job) && (
        <button className="primary" disabled={busy} onClick={() => void keepIt()}>
          Keep it<span className="hidden"> running: {job.name}</span>
        </button>
      )}
      <Trouble error={error} />
    </section>
  );
}
