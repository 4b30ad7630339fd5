// What may be done with a session: open it, share it by name, keep it from being idle, stop it and start it again, end it.
import { useState, type FormEvent } from 'react';
import { ApiError, change } from '../api/http';
import { refresh } from '../api/query';
import { Confirm, Dialog } from '../elements/dialog';
import { Trouble } from '../elements/elements';
import { referenceOf } from '../jobs/filters';
import { mayAct, mayEnter } from '../session/may';
import { useSession } from '../session/session';
import { keep } from './idle_warning';
import { namesIn, type SessionJob } from './sessions';
import { endSession, restartSession, startSession, stopSession } from './stop_and_start';

export function ShareDialog({ job, onClose }: { job: SessionJob; onClose: () => void }) {
  const [guests, setGuests] = useState(job.shared_with ?? []);
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const path = `/v1/jobs/${referenceOf(job)}/shares`;
  const doing = async (what: () => Promise<{ shared_with: string[] }>) => {
    setBusy(true);
    setError(undefined);
    try {
      setGuests((await what()).shared_with);
      refresh('jobs', `job:${job.id}`);
      return true;
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
      return false;
    } finally {
      setBusy(false);
    }
  };
  const add = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const users = namesIn(String(new FormData(form).get('users') ?? ''));
    if (users.length > 0 && (await doing(() => change('POST', path, { users })))) form.reset();
  };
  return (
    <Dialog title={`Share ${job.name} (job ${job.id})`} onClose={onClose}>
      <form onSubmit={add}>
        <p>
          Whoever you name can use the app as you do, and do nothing else to the job. The app does not tell you apart:
          who is in your notebook can run whatever you can.
        </p>
        <label>
          User names
          <input name="users" required maxLength={1024} spellCheck={false} autoComplete="off" autoFocus />
        </label>
        <Trouble error={error} />
        {guests.length > 0 && (
          <ul className="guests" aria-label="Shared with">
            {guests.map((name) => (
              <li key={name}>
                <span className="strong">{name}</span>
                <button
                  type="button"
                  className="small"
                  disabled={busy}
                  aria-label={`Stop sharing with ${name}`}
                  onClick={() => void doing(() => change('DELETE', `${path}/${encodeURIComponent(name)}`))}
                >
                  Remove
                </button>
              </li>
            ))}
          </ul>
        )}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="primary" disabled={busy}>
            Share
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function KeepDialog({ job, onClose }: { job: SessionJob; onClose: () => void }) {
  const act = (form: FormData) => {
    const span = String(form.get('for') ?? '').trim();
    return keep(job, span ? { for: span } : {});
  };
  return (
    <Confirm title={`Keep ${job.name} (job ${job.id})`} verb="Keep it" act={act} onClose={onClose}>
      <p>Until then no rule ends it for being idle. Its time limit and its lifetime stay as they are.</p>
      <label>
        For how long
        <input name="for" maxLength={32} placeholder="as long as the rule allows, or such as 4h" />
      </label>
    </Confirm>
  );
}

type Chosen = 'share' | 'keep' | 'stop' | 'restart' | 'end';

const ENDINGS = {
  stop: {
    verb: 'Stop it',
    does: stopSession,
    says: 'What it holds is given back. It keeps its id, its log and whom it is shared with, and is started again here.',
  },
  restart: { verb: 'Restart it', does: restartSession, says: 'It is stopped, and starts again when its turn comes.' },
  end: { verb: 'End it', does: endSession, says: 'Its programs get SIGTERM, some time to end, and then SIGKILL.' },
};

function Ending({ job, how, onClose }: { job: SessionJob; how: keyof typeof ENDINGS; onClose: () => void }) {
  const { verb, does, says } = ENDINGS[how];
  const title = `${verb.split(' ')[0]} ${job.name} (job ${job.id})`;
  return (
    <Confirm title={title} verb={verb} danger onClose={onClose} act={() => does(job)}>
      <p>{says} What is only in its memory is lost.</p>
    </Confirm>
  );
}

function StartAgain({ job }: { job: SessionJob }) {
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await startSession(job);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
    setBusy(false);
  };
  return (
    <>
      <button disabled={busy} onClick={() => void start()}>
        Start<span className="hidden"> {job.name}</span>
      </button>
      <Trouble error={error} />
    </>
  );
}

// `brief` leaves out what the page of the job has already.
export function SessionActions({ job, brief = false }: { job: SessionJob; brief?: boolean }) {
  const { me } = useSession();
  const [chosen, choose] = useState<Chosen>();
  if (!job.app) return null;
  const close = () => choose(undefined);
  const named = <span className="hidden"> {job.name}</span>;
  const acts = mayAct(me, job);
  const ended = job.phase === 'ended';
  const stopped = ended || job.state === 'held';
  return (
    <>
      {!ended && job.session_url && (
        <a className="button" href={job.session_url} target="_blank" rel="noreferrer">
          Open{!brief && named}
        </a>
      )}
      {!ended && mayEnter(me, job) && <button onClick={() => choose('share')}>Share{!brief && named}</button>}
      {acts && job.phase === 'active' && <button onClick={() => choose('keep')}>Keep{!brief && named}</button>}
      {acts && stopped && <StartAgain job={job} />}
      {acts && !stopped && <button onClick={() => choose('stop')}>Stop{named}</button>}
      {acts && job.phase === 'active' && <button onClick={() => choose('restart')}>Restart{named}</button>}
      {!brief && acts && !ended && (
        <button className="danger" onClick={() => choose('end')}>
          End{named}
        </button>
      )}
      {chosen === 'share' && <ShareDialog job={job} onClose={close} />}
      {chosen === 'keep' && <KeepDialog job={job} onClose={close} />}
      {(chosen === 'stop' || chosen === 'restart' || chosen === 'end') && (
        <Ending job={job} how={chosen} onClose={close} />
      )}
    </>
  );
}
