// The tree of queues: what each is guaranteed, uses, borrows and lends, and who waits in it.
import { Link } from 'wouter';
import { useQuery } from '../api/query';
import type { Cluster, QueueInUse } from '../api/types';
import { Meter, Page, Skeleton, State, Table, Trouble } from '../elements/elements';
import { bytes, thousandths } from '../elements/format';
import { borrowed, lent, treeOf, type Amounts } from './queue_tree';
import { SharePanel } from './share_panel';

function QueueLine({ queue, depth, lends }: { queue: QueueInUse; depth: number; lends?: number }) {
  const name = queue.name as string;
  const limits = queue.limits as Amounts | null | undefined;
  const guaranteed = queue.guaranteed as Amounts | null | undefined;
  const used = queue.usage.gpus_milli;
  const limit = limits?.gpus_milli ?? null;
  return (
    <tr>
      <td>
        <span style={{ paddingLeft: depth * 18 }}>
          {depth > 0 && <span className="faint">└ </span>}
          <Link href={`/jobs?queue=${encodeURIComponent(name)}`} className="strong">
            {name}
          </Link>
        </span>
      </td>
      <td>
        <State word={queue.open === false ? 'closed' : 'open'} />
      </td>
      <td className="number">{queue.usage.jobs_running}</td>
      <td className="number">{queue.usage.jobs_waiting}</td>
      <td className="with-meter">
        {thousandths(used)}
        <Meter part={used} whole={limit ?? guaranteed?.gpus_milli ?? used} label={`${thousandths(used)} GPUs used`} />
      </td>
      <td className="number">{guaranteed?.gpus_milli ? thousandths(guaranteed.gpus_milli) : '–'}</td>
      <td className="number">{guaranteed?.gpus_milli ? thousandths(borrowed(used, guaranteed)) : '–'}</td>
      <td className="number">{guaranteed?.gpus_milli && lends !== undefined ? thousandths(Math.round(lends)) : '–'}</td>
      <td className="number">{limit === null ? '–' : thousandths(limit)}</td>
      <td className="number">{queue.usage.cores}</td>
      <td className="number">{bytes(queue.usage.memory_bytes)}</td>
      <td className="number">{queue.weight ?? 1}</td>
      <td className="number">{queue.priority ?? 0}</td>
    </tr>
  );
}

const COLUMNS = [
  'Queue',
  'State',
  'Running',
  'Waiting',
  'GPUs',
  'Guaranteed',
  'Borrowed',
  'Lent',
  'Limit',
  'Cores',
  'Memory',
  'Weight',
  'Priority',
];

export default function QueuesPage() {
  const cluster = useQuery<Cluster>('/v1/cluster', ['jobs', 'nodes']).data;
  const { data, error } = useQuery<{ queues: QueueInUse[] }>('/v1/queues?limit=10000', ['queues'], 'queues');
  const lends = data && cluster ? lent(data.queues, cluster.gpus.total * 1000) : undefined;
  return (
    <Page title="Queues" detail={<span className="faint">Guaranteed, borrowed, lent and limit are GPUs.</span>}>
      <Trouble error={error} />
      {!data && !error && <Skeleton />}
      {data && (
        <Table
          label="Queues"
          head={COLUMNS.map((name) => (
            <th key={name} className={['Queue', 'State', 'GPUs'].includes(name) ? '' : 'number'}>
              {name}
            </th>
          ))}
        >
          {treeOf(data.queues).map(({ queue, depth }) => (
            <QueueLine
              key={queue.name as string}
              queue={queue}
              depth={depth}
              lends={lends?.get(queue.name as string)}
            />
          ))}
        </Table>
      )}
      {data && <SharePanel queues={data.queues} />}
    </Page>
  );
}
