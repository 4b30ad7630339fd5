// For administrators: what users, projects and domains may have at once and in a month, and changing it. Those of a
// domain see and change the limits of its projects.
import { useState } from 'react';
import { declare } from '../api/declared';
import { refresh, useQuery } from '../api/query';
import type { Declared, Me } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { Empty, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { words } from '../elements/format';
import { mayRunDomain, runsADomain } from '../session/may';
import { useSession } from '../session/session';
import { limitsOf, LIMITS, shownLimit, type Limits } from './limits';

// The kind of object that limits each. A user's limits are an object of their own; a project and a domain bear theirs.
const WHOSE = [
  { kind: 'limit', title: 'Limits of users', one: 'user', add: 'Limit a user', nobody: 'No user has a limit.' },
  { kind: 'project', title: 'Limits of projects', one: 'project', nobody: 'No project has a limit.' },
  { kind: 'domain', title: 'Limits of domains', one: 'domain', nobody: 'No domain has a limit.' },
] as const;
type Whose = (typeof WHOSE)[number];

const mayLimit = (me: Me, kind: Whose['kind'], object: Declared) =>
  me.admin || (kind === 'project' && mayRunDomain(me, String(object.domain ?? '')));

const limitsIn = (object: Declared) => (object.limits ?? {}) as Limits;
const sayWhose = (whose: Whose, name: string) =>
  whose.kind === 'limit' ? (name === '*' ? 'everybody' : name) : `${whose.one} ${name}`;

function LimitForm({ whose, limit, onClose }: { whose: Whose; limit?: Declared; onClose: () => void }) {
  const had = limit ? limitsIn(limit) : {};
  const act = async (form: FormData) => {
    const answer = await declare(whose.kind, limit?.name ?? given(form, 'name'), { limits: limitsOf(form, had) });
    refresh('queues', 'jobs');
    return answer;
  };
  return (
    <Confirm
      title={limit ? `Limits of ${sayWhose(whose, limit.name)}` : 'Limits of a user'}
      verb="Set them"
      act={act}
      onClose={onClose}
    >
      {!limit && (
        <label>
          User, or * for everybody
          <input name="name" required maxLength={256} spellCheck={false} autoComplete="off" />
        </label>
      )}
      {LIMITS.map(({ field, says }) => (
        <label key={field}>
          {says}
          <input
            name={field}
            defaultValue={shownLimit(had, field)}
            inputMode="decimal"
            pattern="[0-9.]*"
            placeholder="no limit"
            maxLength={16}
          />
        </label>
      ))}
    </Confirm>
  );
}

function LimitsOf({ whose }: { whose: Whose }) {
  const { me } = useSession();
  const { data: all, error } = useQuery<{ objects: Declared[] }>(
    `/v1/objects?kind=${whose.kind}&limit=10000`,
    ['objects'],
    'objects',
  );
  const data = all && { objects: all.objects.filter((object) => mayLimit(me, whose.kind, object)) };
  const [open, setOpen] = useState<{ limit?: Declared }>();
  // Where nobody is, there is nothing to limit.
  if (whose.kind !== 'limit' && data?.objects.length === 0) return null;
  return (
    <Panel
      title={whose.title}
      actions={whose.kind === 'limit' && <button onClick={() => setOpen({})}>{whose.add}</button>}
    >
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={2} />}
      {data && data.objects.length === 0 && <Empty title={whose.nobody} />}
      {data && data.objects.length > 0 && (
        <Table
          label={whose.title}
          head={
            <>
              <th>{words(whose.one)}</th>
              {LIMITS.map(({ field, says }) => (
                <th key={field} className="number">
                  {says}
                </th>
              ))}
              <td />
            </>
          }
        >
          {data.objects.map((limit) => (
            <tr key={limit.name}>
              <td className="strong">{whose.kind === 'limit' ? sayWhose(whose, limit.name) : limit.name}</td>
              {LIMITS.map(({ field }) => (
                <td key={field} className="number">
                  {shownLimit(limitsIn(limit), field) || '–'}
                </td>
              ))}
              <td className="row-actions">
                <button
                  className="small"
                  aria-label={`Change the limits of ${sayWhose(whose, limit.name)}`}
                  onClick={() => setOpen({ limit })}
                >
                  Change
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {open && <LimitForm whose={whose} limit={open.limit} onClose={() => setOpen(undefined)} />}
    </Panel>
  );
}

export function LimitPanels() {
  const { me } = useSession();
  const shown = WHOSE.filter(({ kind }) => me.admin || (kind === 'project' && runsADomain(me)));
  return shown.map((whose) => <LimitsOf key={whose.kind} whose={whose} />);
}
