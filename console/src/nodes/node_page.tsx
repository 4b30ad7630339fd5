// One node: where it is, its devices, what checks found of it, and what an administrator may ask of it.
import { Link } from 'wouter';
import { useQuery } from '../api/query';
import type { Job, JobsPage, Node } from '../api/types';
import { Empty, Facts, Meter, Page, Panel, Skeleton, State, Table, Time, Trouble } from '../elements/elements';
import { bytes, words } from '../elements/format';
import { JobTable } from '../jobs/jobs_page';
import { foreignText, holdersOf, strangersOf } from '../overview/heat_colour';
import { ExecutorPanel, foreignHere } from './executors';
import { NodeActions } from './node_actions';

function Devices({ node, jobs }: { node: Node; jobs: Job[] }) {
  const holders = holdersOf(jobs);
  const strangers = strangersOf([{ name: node.name, foreign: foreignHere(node) }]);
  if (!node.devices?.length) return <Empty title="It has no devices." />;
  return (
    <Table
      label="Devices"
      head={['Device', 'Model', 'Memory', 'NUMA', 'Taken', 'Held by'].map((name) => (
        <th key={name}>{name}</th>
      ))}
    >
      {node.devices.map((device) => {
        const place = `${node.name}/${device.id}`;
        const holder = holders.get(place);
        const stranger = strangers.get(place);
        return (
          <tr key={device.id}>
            <td>
              {device.kind} {device.id}
            </td>
            <td>
              {device.vendor} {device.model}
            </td>
            <td>{bytes(device.memory_bytes)}</td>
            <td>{device.numa_node < 0 ? '–' : device.numa_node}</td>
            <td className="with-meter">
              {(1000 - device.free_milli) / 10} %
              <Meter
                part={1000 - device.free_milli}
                whole={1000}
                label={`${(1000 - device.free_milli) / 10} % of the device is taken`}
              />
            </td>
            <td>
              {holder && (
                <Link href={`/jobs/${holder.id}`}>
                  {holder.name} of {holder.user}
                </Link>
              )}
              {holder && stranger && ', '}
              {stranger && foreignText(stranger)}
              {!holder && !stranger && '–'}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function Findings({ node }: { node: Node }) {
  if (node.findings.length === 0) return <Empty title="No check found anything wrong." />;
  return (
    <Table
      label="Findings"
      head={['Check', 'Severity', 'Device', 'Evidence', 'Remedy', 'Since'].map((name) => (
        <th key={name}>{name}</th>
      ))}
    >
      {node.findings.map((finding, at) => (
        <tr key={at}>
          <td>{finding.check}</td>
          <td>
            <State word={finding.severity} />
          </td>
          <td>{finding.device == null || finding.device < 0 ? 'the node' : finding.device}</td>
          <td>{finding.evidence}</td>
          <td>{finding.remedy ? words(finding.remedy) : '–'}</td>
          <td>
            <Time us={finding.since_us} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function NodeFacts({ node }: { node: Node }) {
  const facts: [string, React.ReactNode][] = [
    ['Where', node.topology.map((unit) => `${unit.level} ${unit.name}`).join(', ') || '–'],
    ['Address', node.address],
    ['Agent', node.version ?? 'not connected'],
    [
      'Contact',
      <>
        {words(node.contact)} <Time us={node.contact_since_us} />
      </>,
    ],
    [
      'Life',
      <>
        {words(node.life)} <Time us={node.life_since_us} />
      </>,
    ],
    ['Cores', `${node.cores_free} of ${node.cores} free`],
    ['Memory', `${bytes(node.memory_free_bytes ?? 0)} of ${bytes(node.memory_bytes ?? 0)} free`],
    ['Features', node.features?.join(', ') || '–'],
  ];
  if (node.drained) facts.push(['Drained because', node.drain_reason || '–']);
  if (node.request)
    facts.push(['Asked for', `${words(node.request.action)} by ${node.request.who}: ${node.request.why}`]);
  if (node.not_enforced) facts.push(['Not enforced', node.not_enforced]);
  return <Facts facts={facts} />;
}

export default function NodePage({ name }: { name: string }) {
  const { data: node, error } = useQuery<Node>(`/v1/nodes/${encodeURIComponent(name)}`, ['nodes']);
  const ids = node?.jobs.slice(0, 200).join(',');
  const jobs = useQuery<JobsPage>(ids ? `/v1/jobs?full=1&ids=${ids}` : null, ['nodes']);
  const here = (ids ? (jobs.data?.jobs ?? []) : []) as Job[];
  if (!node) return <Page title={name}>{error ? <Trouble error={error} /> : <Skeleton />}</Page>;
  return (
    <Page title={node.name} detail={<State word={node.state} />} actions={<NodeActions node={node} />}>
      <Trouble error={error} />
      <Panel title="Summary">
        <NodeFacts node={node} />
      </Panel>
      <Panel title="Devices">
        <Devices node={node} jobs={here} />
      </Panel>
      <Panel title="Jobs here">
        {node.jobs.length === 0 ? (
          <Empty title="Nothing runs here." />
        ) : (
          <JobTable label="Jobs of the node" jobs={here} />
        )}
      </Panel>
      {node.executors?.map((executor) => (
        <ExecutorPanel key={executor.name} executor={executor} />
      ))}
      <Panel title="Findings">
        <Findings node={node} />
      </Panel>
    </Page>
  );
}
