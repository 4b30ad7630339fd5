// The overview: what is used now, what waits, how the nodes are, and every GPU.
import { lazy, Suspense, useMemo } from 'react';
import { Link } from 'wouter';
import { useQuery } from '../api/query';
import type { Cluster, JobsPage, NodeBrief } from '../api/types';
import { Empty, Meter, Page, Panel, Skeleton, State, Trouble, useNow } from '../elements/elements';
import { bytes, count, duration, grouped, percent } from '../elements/format';
import { JobTable } from '../jobs/jobs_page';
import { CLUSTER, NODES, WAITING } from './first_reads';
import { HeatMap, MEASURED } from './heat_map';
import { reachOf, seriesOf } from './series';

const Plot = lazy(() => import('./plot').then(({ Plot }) => ({ default: Plot })));

const LINES = [
  { name: 'GPUs held', colour: '--accent' },
  { name: 'Jobs running', colour: '--good' },
];

function Figure({
  name,
  value,
  detail,
  part,
  whole,
}: {
  name: string;
  value: string;
  detail: string;
  part?: number;
  whole?: number;
}) {
  return (
    <div className="figure">
      <div className="figure-name">{name}</div>
      <div className="figure-value">{value}</div>
      {whole !== undefined && (
        <Meter part={part ?? 0} whole={whole} label={`${name}: ${percent(part ?? 0, whole)} %`} />
      )}
      <div className="faint">{detail}</div>
    </div>
  );
}

const of = (part: number, whole: number) => `${grouped(part)} of ${grouped(whole)}`;

const useCluster = () => useQuery<Cluster>(CLUSTER, ['jobs', 'nodes']);
const useNodes = () => useQuery<{ nodes: NodeBrief[] }>(NODES, ['nodes', MEASURED]);

function Figures() {
  const cluster = useCluster().data;
  if (!cluster) return <Skeleton lines={2} />;
  const gpus = cluster.gpus.total - cluster.gpus.free_milli / 1000;
  const cores = cluster.cores.total - cluster.cores.free;
  const memory = cluster.memory_bytes.total - cluster.memory_bytes.free;
  return (
    <div className="figures">
      <Figure
        name="GPUs in use"
        value={of(Math.round(gpus * 1000) / 1000, cluster.gpus.total)}
        detail={`${percent(gpus, cluster.gpus.total)} % are taken`}
        part={gpus}
        whole={cluster.gpus.total}
      />
      <Figure
        name="Cores in use"
        value={of(cores, cluster.cores.total)}
        detail={`${percent(cores, cluster.cores.total)} % are taken`}
        part={cores}
        whole={cluster.cores.total}
      />
      <Figure
        name="Memory in use"
        value={bytes(memory)}
        detail={`of ${bytes(cluster.memory_bytes.total)}`}
        part={memory}
        whole={cluster.memory_bytes.total}
      />
      <Figure
        name="Jobs running"
        value={grouped(cluster.jobs.running)}
        detail={`${count(cluster.jobs.waiting, 'job')} waiting`}
      />
      <Figure
        name="Nodes connected"
        value={of(cluster.nodes.connected, cluster.nodes.total)}
        detail={`${cluster.nodes.drained} drained, ${cluster.nodes.lost} lost`}
        part={cluster.nodes.connected}
        whole={cluster.nodes.total}
      />
    </div>
  );
}

function NodeStates() {
  const nodes = useNodes().data?.nodes;
  if (!nodes) return null;
  const states = new Map<string, number>();
  for (const node of nodes) states.set(node.state, (states.get(node.state) ?? 0) + 1);
  return (
    <ul className="node-states">
      {[...states].map(([state, number]) => (
        <li key={state}>
          <Link href={`/nodes?state=${state}`}>
            <State word={state} /> <span className="number">{number}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

// It waits until the map is there.
function Recent() {
  const isDue = useNodes().data !== undefined;
  const now = useNow();
  const minute = Math.floor(now / 60e6) * 60e6;
  const path = `/v1/jobs?order=newest&limit=2000&submitted_from=${Math.floor((minute - 24 * 3600e6) / 600e6) * 600e6}`;
  const { data } = useQuery<JobsPage>(isDue ? path : null, ['jobs']);
  const reach = useMemo(() => reachOf(data?.jobs ?? [], minute), [data, minute]);
  const series = useMemo(() => {
    const end = Math.max(minute, Date.now() * 1000);
    return seriesOf(data?.jobs ?? [], end - reach, end, 360);
  }, [data, minute, reach]);
  const span = `The last ${duration(reach / 1e6)}`;
  return (
    <Panel title={span} actions={<span className="faint">of jobs submitted in the last day, at most 2000</span>}>
      <Suspense fallback={<div className="plot" />}>
        {data && (
          <Plot
            label={`${span} of the jobs submitted in the last day: GPUs held and jobs running; now ${series.gpus.at(-1)} GPUs and ${series.running.at(-1)} jobs`}
            data={[series.atS, series.gpus, series.running]}
            lines={LINES}
          />
        )}
      </Suspense>
    </Panel>
  );
}

function Waiting() {
  const waiting = useQuery<JobsPage>(WAITING, ['jobs']).data;
  if (!waiting) return <Skeleton lines={3} />;
  if (waiting.jobs.length === 0) return <Empty title="No job waits." />;
  return <JobTable label="Jobs that wait longest" jobs={waiting.jobs} />;
}

function Troubles() {
  const cluster = useCluster();
  const nodes = useNodes();
  return (
    <>
      <Trouble error={cluster.error ?? nodes.error} />
      {cluster.data?.troubles.map((trouble) => (
        <p key={trouble} className="trouble" role="alert">
          {trouble}
        </p>
      ))}
    </>
  );
}

const Name = () => useCluster().data?.name ?? 'Overview';
const EveryGpu = () => <HeatMap nodes={useNodes().data?.nodes} />;

// Each part reads for itself, so that what has changed is drawn again and nothing else.
export function OverviewPage() {
  return (
    <Page title={<Name />} detail={<NodeStates />}>
      <Troubles />
      <Figures />
      <Panel title="Every GPU">
        <EveryGpu />
      </Panel>
      <Recent />
      <Panel title="Waiting longest" actions={<Link href="/jobs?state=waiting">All that wait</Link>}>
        <Waiting />
      </Panel>
    </Page>
  );
}
