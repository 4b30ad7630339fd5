// The list of jobs: a page at a time from the server, filtered there, live.
import { useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useQuery } from '../api/query';
import type { JobsPage as Jobs, JobSummary, QueueInUse } from '../api/types';
import { Empty, Page, Skeleton, State, Table, Time, Trouble } from '../elements/elements';
import { count, words } from '../elements/format';
import { useSession } from '../session/session';
import { FIELDS, jobsPath, readFilters, resourcesOf, STATES, typeOf, type Field } from './filters';

const COLUMNS = ['ID', 'Name', 'Type', 'User', 'Queue', 'Priority', 'Status', 'Project', 'Resources', 'Create time'];
const QUICK = [
  { name: 'All', state: '' },
  { name: 'Waiting', state: 'waiting' },
  { name: 'Running', state: 'active' },
  { name: 'Failed', state: 'failed,timed_out,node_lost' },
  { name: 'Ended', state: 'ended' },
];

function JobRows({ jobs }: { jobs: JobSummary[] }) {
  return jobs.map((job) => (
    <tr key={job.id}>
      <td className="number">{job.id}</td>
      <td>
        <Link href={`/jobs/${job.id}`} className="strong">
          {job.name}
        </Link>
        {job.array && <span className="faint"> [{job.array.index}]</span>}
      </td>
      <td>{typeOf(job)}</td>
      <td>{job.user}</td>
      <td>{job.queue}</td>
      <td className="number">{job.priority}</td>
      <td>
        <State word={job.state} />
      </td>
      <td>{job.project || <span className="faint">–</span>}</td>
      <td className="number-words">{resourcesOf(job.request)}</td>
      <td>
        <Time us={job.submitted_at_us} />
      </td>
    </tr>
  ));
}

export function JobTable({ label, jobs }: { label: string; jobs: JobSummary[] }) {
  return (
    <Table
      label={label}
      head={COLUMNS.map((name) => (
        <th key={name} className={/ID|Priority/.test(name) ? 'number' : ''}>
          {name}
        </th>
      ))}
    >
      <JobRows jobs={jobs} />
    </Table>
  );
}

// What is typed stays as it is typed; the address has it without spaces around it. Only what comes from outside, such as "Show all
// jobs", changes the field.
function Text({ value, set }: { value: string; set: (text: string) => void }) {
  const [typed, setTyped] = useState(value);
  const told = useRef(value);
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setTyped(value);
  }, [value]);
  const type = (text: string) => {
    told.current = text.trim();
    setTyped(text);
    set(text);
  };
  return (
    <input
      type="search"
      data-filter
      aria-label="Filter by text or id"
      placeholder="Name, user, label or id   /"
      maxLength={256}
      value={typed}
      onChange={(event) => type(event.target.value)}
    />
  );
}

function FilterBar({
  values,
  set,
}: {
  values: Partial<Record<Field, string>>;
  set: (field: Field, value: string) => void;
}) {
  const { me } = useSession();
  const queues = useQuery<{ queues: QueueInUse[] }>('/v1/queues', ['queues'], 'queues');
  return (
    <div className="filters" role="search">
      <Text value={values.text ?? ''} set={(text) => set('text', text)} />
      <div className="choice" role="group" aria-label="State">
        {QUICK.map(({ name, state }) => (
          <button key={name} aria-pressed={(values.state ?? '') === state} onClick={() => set('state', state)}>
            {name}
          </button>
        ))}
      </div>
      <select
        aria-label="State exactly"
        value={values.state ?? ''}
        onChange={(event) => set('state', event.target.value)}
      >
        <option value="">Any state</option>
        {values.state?.includes(',') && <option value={values.state}>Several states</option>}
        {STATES.map((state) => (
          <option key={state} value={state}>
            {words(state)}
          </option>
        ))}
      </select>
      <select aria-label="Queue" value={values.queue ?? ''} onChange={(event) => set('queue', event.target.value)}>
        <option value="">Any queue</option>
        {queues.data?.queues.map((queue) => (
          <option key={queue.name as string}>{queue.name as string}</option>
        ))}
      </select>
      {me.user && (
        <button
          aria-pressed={values.user === me.user}
          className="toggle"
          onClick={() => set('user', values.user === me.user ? '' : me.user)}
        >
          Mine
        </button>
      )}
      {FIELDS.filter(
        (field) =>
          ['user', 'project', 'name', 'label'].includes(field) &&
          values[field] &&
          !(field === 'user' && values.user === me.user),
      ).map((field) => (
        <button
          key={field}
          className="chip"
          onClick={() => set(field, '')}
          aria-label={`Remove the filter ${field} ${values[field]}`}
        >
          {field}: {values[field]} ✕
        </button>
      ))}
    </div>
  );
}

export function JobsPage() {
  const [search, setSearch] = useSearchParams();
  const filters = readFilters(search);
  const after = search.get('after');
  const { data: read, error } = useQuery<Jobs>(jobsPath(filters, after), ['jobs']);
  // The former list stays until the next is there: whoever types sees no flicker, and keeps the focus.
  const former = useRef(read);
  former.current = read ?? (error ? undefined : former.current);
  const data = former.current;
  const set = (field: Field, value: string) =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        next.delete('after');
        if (value) next.set(field, value);
        else next.delete(field);
        return next;
      },
      { replace: field === 'text' },
    );
  const turn = (cursor: string | null) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      if (cursor) next.set('after', cursor);
      else next.delete('after');
      return next;
    });
  const filtered = Object.keys(filters).length > 0;
  return (
    <Page title="Jobs">
      <FilterBar values={filters} set={set} />
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={12} />}
      {data && data.jobs.length > 0 && <JobTable label="Jobs" jobs={data.jobs} />}
      {data && data.jobs.length === 0 && (
        <Empty title={filtered ? 'No job is like that.' : 'There are no jobs yet.'}>
          {filtered ? (
            <button onClick={() => setSearch(new URLSearchParams())}>Show all jobs</button>
          ) : (
            <p>
              <Link href="/submit">Submit one here</Link>, or with <code>dove submit</code>.
            </p>
          )}
        </Empty>
      )}
      <div className="pages">
        {after && <button onClick={() => turn(null)}>Newest</button>}
        {data?.next != null && <button onClick={() => turn(String(data.next))}>Older</button>}
        {data && data.jobs.length > 0 && <span className="faint">{count(data.jobs.length, 'job')} on this page</span>}
      </div>
    </Page>
  );
}
