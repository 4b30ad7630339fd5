// Usage now, by user and by project.
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useQuery } from '../api/query';
import type { JobsPage, JobSummary } from '../api/types';
import { Empty, Meter, Page, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { bytes, grouped, thousandths } from '../elements/format';
import { LimitPanels } from './limit_panel';
import { OverTimePanel } from './over_time_panel';
import { QuotaPanel } from './quota_panel';
import { sumsBy } from './sums';

const LIMIT = 10000;

function Sums({
  title,
  jobs,
  by,
  pathOf,
}: {
  title: string;
  jobs: JobSummary[];
  by: (job: JobSummary) => string;
  pathOf?: (name: string) => string;
}) {
  const sums = useMemo(() => sumsBy(jobs, by), [jobs, by]);
  const most = Math.max(1, ...sums.map((sum) => sum.gpus_milli));
  if (sums.length === 0)
    return (
      <Panel title={title}>
        <Empty title="Nobody runs or waits for anything." />
      </Panel>
    );
  return (
    <Panel title={title}>
      <Table
        label={title}
        head={['Name', 'GPUs', 'Cores', 'Memory', 'Jobs running', 'Jobs waiting', 'GPUs waited for'].map((name, at) => (
          <th key={name} className={at > 1 ? 'number' : ''}>
            {name}
          </th>
        ))}
      >
        {sums.map((sum) => (
          <tr key={sum.name}>
            <td>{pathOf && sum.name ? <Link href={pathOf(sum.name)}>{sum.name}</Link> : sum.name || 'no project'}</td>
            <td className="with-meter">
              {thousandths(sum.gpus_milli)}
              <Meter part={sum.gpus_milli} whole={most} label={`${thousandths(sum.gpus_milli)} GPUs`} />
            </td>
            <td className="number">{sum.cores}</td>
            <td className="number">{bytes(sum.memory_bytes)}</td>
            <td className="number">{sum.running}</td>
            <td className="number">{sum.waiting}</td>
            <td className="number">{thousandths(sum.waiting_gpus_milli)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

const byUser = (job: JobSummary) => job.user;
const byProject = (job: JobSummary) => job.project ?? '';
const userPath = (user: string) => `/jobs?user=${encodeURIComponent(user)}`;
const projectPath = (project: string) => `/jobs?project=${encodeURIComponent(project)}`;

export default function UsagePage() {
  const { data, error } = useQuery<JobsPage>(`/v1/jobs?state=active,waiting,held&limit=${LIMIT}`, ['jobs']);
  return (
    <Page
      title="Usage"
      detail={
        <span className="faint">
          What is allocated now, and what is waited for
          {data?.next != null ? `, of the oldest ${grouped(LIMIT)} jobs` : ''}.
        </span>
      }
    >
      <Trouble error={error} />
      {!data && !error && <Skeleton />}
      <QuotaPanel />
      <LimitPanels />
      <OverTimePanel />
      {data && (
        <>
          <Sums title="By user" jobs={data.jobs} by={byUser} pathOf={userPath} />
          <Sums title="By project" jobs={data.jobs} by={byProject} pathOf={projectPath} />
        </>
      )}
    </Page>
  );
}
