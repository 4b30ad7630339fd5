// The audit: who did what, from where, and what was refused; for auditors and administrators.
import type { FormEvent } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useQuery } from '../api/query';
import { Empty, Page, Skeleton, Table, Time, Trouble } from '../elements/elements';
import { mayAudit } from '../session/may';
import { useSession } from '../session/session';
import { auditPath, entryOf, KINDS, type Audit, type AuditRecord } from './audit';

function Row({ record }: { record: AuditRecord }) {
  const { who, from, what, about, refused } = entryOf(record);
  return (
    <tr>
      <td className="number">{record.seq}</td>
      <td>
        <Time us={record.at_us} />
      </td>
      <td className="strong">{who}</td>
      <td>{from || <span className="faint">–</span>}</td>
      <td className={refused ? 'trouble-text' : ''}>{what}</td>
      <td className="wrapped">
        {record.job !== undefined ? <Link href={`/jobs/${record.job}`}>{about}</Link> : about}
      </td>
    </tr>
  );
}

function Filters({ user, kind, set }: { user: string; kind: string; set: (name: string, value: string) => void }) {
  const find = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    set('user', String(new FormData(event.currentTarget).get('user') ?? '').trim());
  };
  return (
    <div className="filters" role="search">
      <form onSubmit={find}>
        <input
          key={user}
          type="search"
          name="user"
          data-filter
          aria-label="Filter by user"
          placeholder="User   /"
          maxLength={256}
          defaultValue={user}
          onBlur={(event) => event.target.value.trim() !== user && set('user', event.target.value.trim())}
        />
      </form>
      <select aria-label="Kind" value={kind} onChange={(event) => set('kind', event.target.value)}>
        {!KINDS.some(([of]) => of === kind) && <option value={kind}>{kind}</option>}
        {KINDS.map(([of, name]) => (
          <option key={of} value={of}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

export default function AuditPage() {
  const { me } = useSession();
  const [search, setSearch] = useSearchParams();
  const [user, kind, after] = ['user', 'kind', 'after'].map((name) => search.get(name) ?? '') as [
    string,
    string,
    string,
  ];
  const may = mayAudit(me);
  const { data, error } = useQuery<Audit>(may ? auditPath(user, kind, after) : null, []);
  const set = (name: string, value: string) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      if (name !== 'after') next.delete('after');
      if (value) next.set(name, value);
      else next.delete(name);
      return next;
    });
  return (
    <Page title="Audit" detail={<span className="faint">What people did, and what was refused to them.</span>}>
      {!may && <Empty title="The audit is for auditors and administrators of the cluster." />}
      {may && <Filters user={user} kind={kind} set={set} />}
      <Trouble error={error} />
      {may && !data && !error && <Skeleton lines={12} />}
      {data && data.events.length === 0 && (
        <Empty
          title={
            data.next === null
              ? 'There is nothing like that.'
              : 'Nothing like that among these records; there are older ones.'
          }
        />
      )}
      {data && data.events.length > 0 && (
        <Table
          label="Audit"
          head={['Record', 'When', 'Who', 'From', 'What', 'About'].map((name) => (
            <th key={name} className={name === 'Record' ? 'number' : ''}>
              {name}
            </th>
          ))}
        >
          {data.events.map((record) => (
            <Row key={record.seq} record={record} />
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
