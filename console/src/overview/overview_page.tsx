// The overview: what is used now, what waits, how the nodes are, and every GPU.
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useQuery } from '../api/query';
import type { Cluster, JobsPage, Node } from '../api/types';
import { Empty, Meter, Page, Panel, Skeleton, State, Trouble, useNow } from '../elements/elements';
import { bytes, count, duration, percent } from '../elements/format';
import { JobTable } from '../jobs/jobs_page';
import { HeatMap } from './heat_map';
import { Plot } from './plot';
import { reachOf, seriesOf } from './series';

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

const of = (part: number, whole: number) => `${part.toLocaleString('en')} of ${whole.toLocaleString('en')}`;

function Figures({ cluster }: { cluster: Cluster }) {
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
        value={cluster.jobs.running.toLocaleString('en')}
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

function NodeStates({ nodes }: { nodes: Node[] }) {
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

function Recent() {
  const now = useNow();
  const minute = Math.floor(now / 60e6) * 60e6;
  const path = `/v1/jobs?order=newest&limit=2000&submitted_from=${Math.floor((minute - 24 * 3600e6) / 600e6) * 600e6}`;
  const { data } = useQuery<JobsPage>(path, ['jobs']);
  const reach = useMemo(() => reachOf(data?.jobs ?? [], minute), [data, minute]);
  const series = useMemo(() => {
    const end = Math.max(minute, Date.now() * 1000);
    return seriesOf(data?.jobs ?? [], end - reach, end, 360);
  }, [data, minute, reach]);
  const span = `The last ${duration(reach / 1e6)}`;
  return (
    <Panel title={span} actions={<span className="faint">of jobs submitted in the last day, at most 2000</span>}>
      <Plot
        label={`${span}: GPUs held and jobs running; now ${series.gpus.at(-1)} GPUs and ${series.running.at(-1)} jobs`}
        data={[series.atS, series.gpus, series.running]}
        lines={LINES}
      />
    </Panel>
  );
}

export default function OverviewPage() {
  const cluster = useQuery<Cluster>('/v1/cluster', ['jobs', 'nodes']);
  const nodes = useQuery<{ nodes: Node[] }>('/v1/nodes?limit=10000', ['nodes']);
  const waiting = useQuery<JobsPage>('/v1/jobs?state=waiting,held&limit=8', ['jobs']);
  return (
    <Page
      title={cluster.data ? cluster.data.name : 'Overview'}
      detail={nodes.data && <NodeStates nodes={nodes.data.nodes} />}
    >
      <Trouble error={cluster.error ?? nodes.error} />
      {cluster.data?.troubles.map((trouble) => (
        <p key={trouble} className="trouble" role="alert">
          {trouble}
        </p>
      ))}
      {cluster.data ? <Figures cluster={cluster.data} /> : <Skeleton lines={2} />}
      <Panel title="Every GPU">
        <HeatMap nodes={nodes.data?.nodes} />
      </Panel>
      <Recent />
      <Panel title="Waiting longest" actions={<Link href="/jobs?state=waiting">All that wait</Link>}>
        {waiting.data && waiting.data.jobs.length > 0 ? (
          <JobTable label="Jobs that wait longest" jobs={waiting.data.jobs} />
        ) : waiting.data ? (
          <Empty title="No job waits." />
        ) : (
          <Skeleton lines={3} />
        )}
      </Panel>
    </Page>
  );
}
