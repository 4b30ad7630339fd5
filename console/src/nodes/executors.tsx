// Who else runs work on a node: a Slurm, and what it runs there for others.
import type { Node, NodeBrief, NodeExecutor } from '../api/types';
import { Empty, Panel, State, Table, Time } from '../elements/elements';
import { bytes, count, grouped } from '../elements/format';

type Foreign = NodeExecutor['foreign'][number];

// When what is kept for others begins; null: it is held now. Nobody runs in such a reservation, and it has no such instant
// once it has begun.
export function keptFrom({ id, started_at_us }: Foreign): number | null {
  return id.startsWith('reservation:') ? (started_at_us ?? null) : null;
}

// As the list of nodes has it: what is held now.
export function foreignHere(node: Pick<Node, 'executors'>): NonNullable<NodeBrief['foreign']> {
  return (node.executors ?? []).flatMap(({ name, foreign }) =>
    foreign.filter((one) => keptFrom(one) === null).map((one) => ({ ...one, executor: name })),
  );
}

// "GPU 0, 2, 4 cores, 16 GiB".
export function heldText({ devices, cores, memory_bytes }: Foreign): string {
  const held = [];
  if (devices.length > 0) held.push(`GPU ${devices.join(', ')}`);
  if (cores.length > 0) held.push(count(cores.length, 'core'));
  if (memory_bytes > 0) held.push(bytes(memory_bytes));
  return held.join(', ') || 'nothing';
}

function ForeignTable({ executor }: { executor: NodeExecutor }) {
  return (
    <Table
      label={`Jobs of ${executor.name}`}
      head={['Job', 'User', 'Account', 'Counts in', 'Partition', 'Priority', 'Holds', 'From', 'Ends by'].map((name) => (
        <th key={name}>{name}</th>
      ))}
    >
      {executor.foreign.map((one) => (
        <tr key={one.id}>
          <td>{one.name ? `${one.id} ${one.name}` : one.id}</td>
          <td>{one.user || '–'}</td>
          <td>{one.account || '–'}</td>
          <td>{one.queue ? `queue ${one.queue}` : 'no queue'}</td>
          <td>{one.partition || '–'}</td>
          <td>{grouped(one.priority)}</td>
          <td>{heldText(one)}</td>
          <td>
            <Time us={keptFrom(one)} />
          </td>
          <td>
            <Time us={one.ends_by_us} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function ExecutorPanel({ executor }: { executor: NodeExecutor }) {
  const detail = [executor.contact, executor.why, executor.closes ? 'nothing of ours starts here' : ''];
  return (
    <Panel
      title={`Run by ${executor.name}`}
      actions={
        <span className="faint">
          <State word={executor.state} /> · {detail.filter(Boolean).join(' · ')}
        </span>
      }
    >
      {executor.foreign.length > 0 ? (
        <ForeignTable executor={executor} />
      ) : (
        <Empty title={`${executor.name} runs nothing here.`} />
      )}
    </Panel>
  );
}
