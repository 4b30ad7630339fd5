// One job: why it waits, its attempts, what it prints, a terminal in it.
import { lazy, Suspense } from 'react';
import { Link, useLocation } from 'wouter';
import type { ApiError } from '../api/http';
import { useQuery } from '../api/query';
import type { Job, Why } from '../api/types';
import { Empty, Facts, Meter, Page, Panel, Skeleton, State, Time, Trouble } from '../elements/elements';
import { duration, exact, words } from '../elements/format';
import { mayEnter, mayReadOutput } from '../session/may';
import { useSession } from '../session/session';
import { IdleWarning } from '../sessions/idle_warning';
import { SessionActions } from '../sessions/session_actions';
import { JobActions } from './actions';
import { Attempts } from './attempts';
import { referenceOf, resourcesOf, typeOf } from './filters';
import { Logs } from './logs';
import { progressFacts } from './progress';

const Terminal = lazy(() => import('./terminal'));
const UsePanel = lazy(() => import('./use_panel'));

export function WhyPanel({ job }: { job: Job }) {
  const { data, error } = useQuery<Why>(`/v1/jobs/${referenceOf(job)}/why`, [
    `job:${job.id}`,
    'nodes',
    'queues',
    'jobs',
  ]);
  if (job.phase === 'ended' || (job.phase === 'active' && !data?.text)) return null;
  return (
    <Panel title={job.phase === 'waiting' ? 'Why it waits' : 'Trouble'} className="why">
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={2} />}
      {data?.text && <p>{data.text}</p>}
      <ul className="reasons">
        {data?.reasons.map((reason, at) => (
          <li key={at}>
            <span className="tag">{words(reason.kind)}</span>
            <span>{reason.text}</span>
            {reason.needs !== undefined && reason.total !== undefined && reason.total > 0 && (
              <Meter
                part={reason.free ?? 0}
                whole={reason.needs}
                label={`${reason.free ?? 0} free of ${reason.needs} needed`}
              />
            )}
            {reason.until_us && (
              <span className="faint">
                until <Time us={reason.until_us} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {data && data.reasons.length === 0 && job.phase === 'waiting' && (
        <p className="faint">Nothing keeps it: it is about to start.</p>
      )}
      {job.promised_start_us && (
        <p>
          Promised to start by {exact(job.promised_start_us)} (<Time us={job.promised_start_us} />
          ).
        </p>
      )}
    </Panel>
  );
}

function JobFacts({ job }: { job: Job }) {
  const ran = job.started_at_us ? ((job.ended_at_us ?? Date.now() * 1000) - job.started_at_us) / 1e6 : null;
  const facts: [string, React.ReactNode][] = [
    ['User', <Link href={`/jobs?user=${encodeURIComponent(job.user)}`}>{job.user}</Link>],
    ['Project', job.project || '–'],
    ['Queue', <Link href={`/jobs?queue=${encodeURIComponent(job.queue)}`}>{job.queue}</Link>],
    ['Type', typeOf(job)],
    ['Asks for', resourcesOf(job.request)],
    ['Priority', job.priority],
    ['Time limit', job.time_limit_s ? duration(job.time_limit_s) : 'none'],
    ['Submitted', <Time us={job.submitted_at_us} />],
    ['Started', <Time us={job.started_at_us} />],
    ['Ran for', ran === null ? '–' : duration(ran)],
  ];
  if (job.nodes.length > 0) facts.push(['Nodes', <NodeLinks names={job.nodes} />]);
  if (job.exit_code !== null && job.phase === 'ended') facts.push(['Exit code', job.exit_code]);
  if (job.label) facts.push(['Label', job.label]);
  return <Facts facts={facts} />;
}

export function NodeLinks({ names }: { names: string[] }) {
  return (
    <span className="node-links">
      {names.slice(0, 16).map((name) => (
        <Link key={name} href={`/nodes/${encodeURIComponent(name)}`}>
          {name}
        </Link>
      ))}
      {names.length > 16 && <span className="faint">and {names.length - 16} more</span>}
    </span>
  );
}

const TABS = [
  { tab: '', name: 'Summary', may: () => true },
  { tab: 'logs', name: 'Logs', may: mayReadOutput },
  { tab: 'terminal', name: 'Terminal', may: mayEnter },
];

function Summary({ job }: { job: Job }) {
  const exec = job.exec as { script?: string; command?: string[] } | null | undefined;
  return (
    <>
      <WhyPanel job={job} />
      <Panel title="Summary">
        <JobFacts job={job} />
      </Panel>
      {job.progress && (
        <Panel title="Progress">
          <Facts facts={progressFacts(job.progress)} />
          {job.progress.hang && (
            <p className="trouble" role="alert">
              {job.progress.hang}
            </p>
          )}
        </Panel>
      )}
      {(job.state === 'running' || job.phase === 'ended') && (
        <Suspense fallback={<Skeleton lines={4} />}>
          <UsePanel job={job} />
        </Suspense>
      )}
      <Attempts job={job} />
      {job.warnings && job.warnings.length > 0 && (
        <Panel title="Warnings">
          <ul>
            {job.warnings.map((warning) => (
              <li key={warning.text}>{warning.text}</li>
            ))}
          </ul>
        </Panel>
      )}
      {exec && (
        <Panel title="What it runs">
          <pre className="code" tabIndex={0}>
            {exec.script ?? exec.command?.join(' ')}
          </pre>
        </Panel>
      )}
    </>
  );
}

function Tabs({ job, id, tab }: { job: Job; id: string; tab: string }) {
  const { me } = useSession();
  const [, go] = useLocation();
  const tabs = TABS.filter(({ may }) => may(me, job));
  const open = (to: string) => go(`/jobs/${id}${to ? `/${to}` : ''}`);
  const turn = (event: React.KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const to = step && tabs[tabs.findIndex((one) => one.tab === tab) + step];
    if (!to) return;
    open(to.tab);
    document.getElementById(`tab-${to.tab}`)?.focus();
  };
  return (
    <>
      <div className="tabs" role="tablist" aria-label="Parts of the job" onKeyDown={turn}>
        {tabs.map(({ tab: name, name: title }) => (
          <button
            key={name}
            role="tab"
            id={`tab-${name}`}
            tabIndex={tab === name ? 0 : -1}
            aria-selected={tab === name}
            aria-controls="tab-panel"
            onClick={() => open(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
        {tab === '' && <Summary job={job} />}
        {tab === 'logs' && <Logs job={job} />}
        {tab === 'terminal' && (
          <Suspense fallback={<Skeleton />}>
            <Terminal job={job} />
          </Suspense>
        )}
      </div>
    </>
  );
}

function NoJob({ id, error }: { id: string; error: ApiError | undefined }) {
  return (
    <Page title={`Job ${id}`}>
      {!error && <Skeleton />}
      {error?.status === 404 && (
        <Empty title={error.message}>
          <Link href="/jobs">All jobs</Link>
        </Empty>
      )}
      {error?.status !== 404 && <Trouble error={error} />}
    </Page>
  );
}

export function JobPage({ id, tab = '' }: { id: string; tab?: string }) {
  const { data: job, error } = useQuery<Job>(`/v1/jobs/${encodeURIComponent(id)}`, [
    id.includes('_') ? 'jobs' : `job:${id}`,
  ]);
  if (!job) return <NoJob id={id} error={error} />;
  return (
    <Page
      title={job.name}
      detail={
        <>
          <State word={job.state} />
          <span className="faint">job {referenceOf(job)}</span>
          {job.start_failure && <span className="trouble-text">{job.start_failure}</span>}
        </>
      }
      actions={
        <>
          <SessionActions job={job} brief />
          <JobActions job={job} />
        </>
      }
    >
      <Trouble error={error} />
      <IdleWarning job={job} />
      <Tabs job={job} id={id} tab={tab} />
    </Page>
  );
}
