// The sessions that whoever is signed in may enter: notebooks, editors, and every other job with an app.
import { Link, useSearchParams } from 'wouter';
import { useQuery } from '../api/query';
import { Empty, Page, Skeleton, State, Table, Time, Trouble, useNow } from '../elements/elements';
import { referenceOf, resourcesOf } from '../jobs/filters';
import { useSession } from '../session/session';
import { IdleWarning } from './idle_warning';
import { SessionActions } from './session_actions';
import { appName, sessionsPath, statusOf, type SessionJob, type Sessions } from './sessions';

const COLUMNS = ['Name', 'Queue', 'Image', 'Project', 'Type', 'Status', 'Priority', 'Resources', 'Create time'];

function SessionRow({ job }: { job: SessionJob }) {
  const { me } = useSession();
  const now = useNow();
  const status = statusOf(job);
  return (
    <tr>
      <td>
        <Link href={`/jobs/${referenceOf(job)}`} className="strong">
          {job.name}
        </Link>
        {job.user !== me.user && <div className="faint">of {job.user}</div>}
        {(me.admin || job.user === me.user) && job.shared_with && job.shared_with.length > 0 && (
          <div className="faint">shared with {job.shared_with.join(', ')}</div>
        )}
      </td>
      <td>{job.queue}</td>
      <td className="image-cell">{job.image || <span className="faint">none</span>}</td>
      <td>{job.project || <span className="faint">–</span>}</td>
      <td>{appName(job.app?.name)}</td>
      <td>
        <State word={status.word} />
        {status.how && <div className="faint">{status.how}</div>}
        {job.phase === 'waiting' && job.promised_start_us && (
          <div className="faint">
            starts by <Time us={job.promised_start_us} />
          </div>
        )}
        {job.phase === 'active' && (job.kept_until_us ?? 0) > now && (
          <div className="faint">
            kept, until <Time us={job.kept_until_us} />
          </div>
        )}
      </td>
      <td className="number">{job.priority}</td>
      <td className="number-words">{resourcesOf(job.request)}</td>
      <td>
        <Time us={job.submitted_at_us} />
      </td>
      <td className="row-actions">
        <SessionActions job={job} />
      </td>
    </tr>
  );
}

function Filters({ state, user, set }: { state: string; user: string; set: (name: string, value: string) => void }) {
  const { me } = useSession();
  return (
    <div className="filters" role="search">
      <div className="choice" role="group" aria-label="State">
        <button aria-pressed={state === 'open'} onClick={() => set('state', '')}>
          Open
        </button>
        <button aria-pressed={state === 'stopped'} onClick={() => set('state', 'stopped')}>
          Stopped
        </button>
      </div>
      {me.user && (
        <button
          className="toggle"
          aria-pressed={user === me.user}
          onClick={() => set('user', user === me.user ? '' : me.user)}
        >
          Mine
        </button>
      )}
    </div>
  );
}

export default function SessionsPage() {
  const { me } = useSession();
  const [search, setSearch] = useSearchParams();
  const state = search.get('state') === 'stopped' ? 'stopped' : 'open';
  const user = search.get('user') ?? '';
  const after = search.get('after');
  const { data, error } = useQuery<Sessions>(sessionsPath(state, user, after), ['jobs']);
  // To the server one that is held waits.
  const jobs = data?.jobs.filter((job) => state === 'stopped' || job.state !== 'held') ?? [];
  const set = (name: string, value: string) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      if (name !== 'after') next.delete('after');
      if (value) next.set(name, value);
      else next.delete(name);
      return next;
    });
  return (
    <Page
      title="Sessions"
      detail={<span className="faint">{me.admin ? 'Everybody’s.' : 'Yours, and those that are shared with you.'}</span>}
      actions={
        <Link href="/sessions/start" className="button primary">
          Start a session
        </Link>
      }
    >
      <Filters state={state} user={user} set={set} />
      <Trouble error={error} />
      {jobs.map((job) => (
        <IdleWarning key={job.id} job={job} linked />
      ))}
      {!data && !error && <Skeleton />}
      {data && jobs.length === 0 && (
        <Empty title={state === 'open' ? 'No session is open.' : 'No session is stopped.'}>
          <p>
            <Link href="/sessions/start">Start one here</Link>; <code>dove notebook --gpus 1</code> starts JupyterLab
            from a terminal.
          </p>
        </Empty>
      )}
      {data && jobs.length > 0 && (
        <Table
          label="Sessions"
          className="session-table"
          head={
            <>
              {COLUMNS.map((name) => (
                <th key={name} className={name === 'Priority' ? 'number' : ''}>
                  {name}
                </th>
              ))}
              <td />
            </>
          }
        >
          {jobs.map((job) => (
            <SessionRow key={job.id} job={job} />
          ))}
        </Table>
      )}
      <div className="pages">
        {after && <button onClick={() => set('after', '')}>Newest</button>}
        {data?.next != null && <button onClick={() => set('after', String(data.next))}>Older</button>}
      </div>
    </Page>
  );
}
