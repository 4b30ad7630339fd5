// The list of nodes, a page at a time.
import type { FormEvent } from 'react';
import { Link, useSearchParams } from 'wouter';
import { withQuery } from '../api/http';
import { useQuery } from '../api/query';
import type { Node } from '../api/types';
import { Empty, Meter, Page, Skeleton, State, Table, Trouble } from '../elements/elements';
import { bytes, count, thousandths, words } from '../elements/format';

const PAGE = 200;
const STATES = ['ready', 'drained', 'draining', 'onboard', 'test', 'suspect', 'repair', 'broken', 'silent', 'lost'];

function NodeRow({ node }: { node: Node }) {
  const gpus = node.gpus ?? 0;
  const taken = gpus - (node.gpus_free_milli ?? 0) / 1000;
  const cores = (node.cores ?? 0) - (node.cores_free ?? 0);
  return (
    <tr>
      <td>
        <Link href={`/nodes/${encodeURIComponent(node.name)}`} className="strong">
          {node.name}
        </Link>
      </td>
      <td>
        <State word={node.state} />
      </td>
      <td>{node.topology.map((unit) => unit.name).join(' / ') || '–'}</td>
      <td className="with-meter">
        {gpus > 0 ? (
          <>
            {thousandths(taken * 1000)} of {gpus} {node.gpu_model}
            <Meter part={taken} whole={gpus} label={`${taken} of ${gpus} GPUs taken`} />
          </>
        ) : (
          '–'
        )}
      </td>
      <td className="with-meter">
        {cores} of {node.cores}
        <Meter part={cores} whole={node.cores ?? 0} label={`${cores} of ${node.cores} cores taken`} />
      </td>
      <td className="number-words">{bytes(node.memory_free_bytes ?? 0)} free</td>
      <td className="number">{node.jobs.length}</td>
      <td>
        {node.drain_reason || node.life_why || (node.findings.length > 0 ? count(node.findings.length, 'finding') : '')}
      </td>
    </tr>
  );
}

function NodeFilters({
  state,
  name,
  set,
}: {
  state: string;
  name: string;
  set: (changes: Record<string, string>) => void;
}) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget).get('name'));
    set({ name: typed.trim().replace(/[\s,]+/g, ',') });
  };
  return (
    <form className="filters" role="search" onSubmit={submit}>
      <input
        type="search"
        name="name"
        data-filter
        aria-label="Names of nodes"
        placeholder="Names, then Enter   /"
        defaultValue={name}
        maxLength={2000}
      />
      <select aria-label="State" value={state} onChange={(event) => set({ state: event.target.value })}>
        <option value="">Any state</option>
        {STATES.map((one) => (
          <option key={one} value={one}>
            {words(one)}
          </option>
        ))}
      </select>
    </form>
  );
}

const COLUMNS = ['Name', 'State', 'Where', 'GPUs', 'Cores', 'Memory', 'Jobs', 'Remark'];

export default function NodesPage() {
  const [search, setSearch] = useSearchParams();
  const state = search.get('state') ?? '';
  const name = search.get('name') ?? '';
  const { data, error } = useQuery<{ nodes: Node[]; next: number | null }>(
    withQuery('/v1/nodes', { state, name, limit: PAGE, after: search.get('after') }),
    ['nodes'],
  );
  const set = (changes: Record<string, string>) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      if (!('after' in changes)) next.delete('after');
      for (const [field, value] of Object.entries(changes)) value ? next.set(field, value) : next.delete(field);
      return next;
    });
  return (
    <Page title="Nodes">
      <NodeFilters state={state} name={name} set={set} />
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={8} />}
      {data && data.nodes.length > 0 && (
        <Table
          label="Nodes"
          head={COLUMNS.map((title) => (
            <th key={title} className={title === 'Jobs' ? 'number' : ''}>
              {title}
            </th>
          ))}
        >
          {data.nodes.map((node) => (
            <NodeRow key={node.name} node={node} />
          ))}
        </Table>
      )}
      {data && data.nodes.length === 0 && (state || name) && (
        <Empty title="No node is like that.">
          <button onClick={() => setSearch(new URLSearchParams())}>Show all nodes</button>
        </Empty>
      )}
      {data && data.nodes.length === 0 && !state && !name && (
        <Empty title="No node has joined.">
          <p>
            <code>dove join-token create</code> makes a token; <code>dove agent</code> joins with it.
          </p>
        </Empty>
      )}
      <div className="pages">
        {search.get('after') && <button onClick={() => set({ after: '' })}>First</button>}
        {data?.next != null && <button onClick={() => set({ after: String(data.next) })}>Next</button>}
        {data && <span className="faint">{count(data.nodes.length, 'node')} on this page</span>}
      </div>
    </Page>
  );
}
