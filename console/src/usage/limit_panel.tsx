// For administrators: what users may have at once, and changing it.
import { useState } from 'react';
import { change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Confirm } from '../elements/dialog';
import { Empty, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { useSession } from '../session/session';
import { limitsOf, LIMITS, shownLimit, type Limits } from './limits';

function LimitForm({ limit, onClose }: { limit?: Declared; onClose: () => void }) {
  const had = (limit?.limits ?? {}) as Limits;
  const act = async (form: FormData) => {
    const name = limit?.name ?? String(form.get('name') ?? '').trim();
    await change('PUT', `/v1/objects/limit/${encodeURIComponent(name)}`, { limits: limitsOf(form, had) });
    refresh('objects', 'queues', 'jobs');
  };
  return (
    <Confirm
      title={limit ? `Limits of ${sayWhose(limit.name)}` : 'Limits of a user'}
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

const sayWhose = (name: string) => (name === '*' ? 'everybody' : name);

export function LimitPanel() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>(me.admin ? '/v1/objects?kind=limit&limit=1000' : null, [
    'objects',
  ]);
  const [open, setOpen] = useState<{ limit?: Declared }>();
  if (!me.admin) return null;
  return (
    <Panel title="Limits of users" actions={<button onClick={() => setOpen({})}>Limit a user</button>}>
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={2} />}
      {data && data.objects.length === 0 && <Empty title="No user has a limit." />}
      {data && data.objects.length > 0 && (
        <Table
          label="Limits of users"
          head={
            <>
              <th>User</th>
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
              <td className="strong">{sayWhose(limit.name)}</td>
              {LIMITS.map(({ field }) => (
                <td key={field} className="number">
                  {shownLimit((limit.limits ?? {}) as Limits, field) || '–'}
                </td>
              ))}
              <td className="row-actions">
                <button
                  className="small"
                  aria-label={`Change the limits of ${sayWhose(limit.name)}`}
                  onClick={() => setOpen({ limit })}
                >
                  Change
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {open && <LimitForm limit={open.limit} onClose={() => setOpen(undefined)} />}
    </Panel>
  );
}
