// The roles that people hold, and where; whoever may, gives roles here and takes them back.
import { useState } from 'react';
import { declare } from '../api/declared';
import { useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { Empty, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { words } from '../elements/format';
import { useSession } from '../session/session';
import { bindingName, granted, list, ROLES, takenBack, type Grant } from './grants';

type Field = 'users' | 'groups';
interface Held {
  binding: Declared;
  field: Field;
  who: string;
}

function levelOf(binding: Declared): string {
  if (binding.project) return `project ${String(binding.project)}`;
  if (binding.domain) return `domain ${String(binding.domain)}`;
  return 'the cluster';
}

function GiveRole({ bindings, onClose }: { bindings: Declared[]; onClose: () => void }) {
  const [level, setLevel] = useState<Grant['level']>('project');
  const act = (form: FormData) => {
    const text = (field: string) => given(form, field);
    const grant: Grant = { role: text('role'), level, name: level === 'cluster' ? '' : text('at') };
    const name = bindingName(grant);
    const before = bindings.find((binding) => binding.name === name);
    return declare('binding', name, granted(grant, text('field') as Field, text('who'), before));
  };
  return (
    <Confirm title="Give a role" verb="Give it" act={act} onClose={onClose}>
      <label>
        Role
        <select name="role" defaultValue="member">
          {ROLES.map((role) => (
            <option key={role} value={role}>
              {words(role)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Where
        <select value={level} onChange={(event) => setLevel(event.target.value as Grant['level'])}>
          <option value="project">In a project</option>
          <option value="domain">In a domain</option>
          <option value="cluster">On the cluster</option>
        </select>
      </label>
      {level !== 'cluster' && (
        <label>
          {words(level)}
          <input name="at" required maxLength={256} spellCheck={false} autoComplete="off" />
        </label>
      )}
      <label>
        To a
        <select name="field">
          <option value="users">User</option>
          <option value="groups">Group</option>
        </select>
      </label>
      <label>
        Name
        <input name="who" required maxLength={256} spellCheck={false} autoComplete="off" />
      </label>
    </Confirm>
  );
}

function Holders({ binding, field, take }: { binding: Declared; field: Field; take?: (held: Held) => void }) {
  const names = list(binding[field]);
  if (names.length === 0) return <>–</>;
  if (!take) return <>{names.join(', ')}</>;
  return (
    <span className="node-links">
      {names.map((who) => (
        <button
          key={who}
          className="chip small"
          aria-label={`Take ${String(binding.role)} of ${levelOf(binding)} from ${who}`}
          onClick={() => take({ binding, field, who })}
        >
          {who} ✕
        </button>
      ))}
    </span>
  );
}

export function Roles() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>(
    '/v1/objects?kind=binding&limit=10000',
    ['objects'],
    'objects',
  );
  const [giving, give] = useState(false);
  const [held, take] = useState<Held>();
  const own = me.roles.map(
    (role) => `${role.role} of ${role.level === 'cluster' ? 'the cluster' : `${role.level} ${role.name}`}`,
  );
  const standing =
    own.length > 0
      ? `You are ${own.join(', ')}.`
      : me.admin
        ? 'You are the administrator.'
        : 'You have no role beyond your own jobs.';
  const may = me.admin || me.roles.some((role) => ['manager', 'admin'].includes(role.role));
  return (
    <Panel
      title="Roles"
      actions={
        <>
          <span className="faint">{standing}</span>
          {may && <button onClick={() => give(true)}>Give a role</button>}
        </>
      }
    >
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={3} />}
      {data && data.objects.length === 0 && (
        <Empty title="Nobody was given a role.">
          <p>
            <code>dove role grant member NAME --project PROJECT</code> gives one.
          </p>
        </Empty>
      )}
      {data && data.objects.length > 0 && (
        <Table
          label="Roles"
          head={['Role', 'Where', 'Users', 'Groups'].map((name) => (
            <th key={name}>{name}</th>
          ))}
        >
          {data.objects.map((binding) => (
            <tr key={binding.name}>
              <td className="strong">{words(String(binding.role ?? ''))}</td>
              <td>{levelOf(binding)}</td>
              {(['users', 'groups'] as const).map((field) => (
                <td key={field} className="wrapped">
                  <Holders binding={binding} field={field} take={may ? take : undefined} />
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
      {giving && <GiveRole bindings={data?.objects ?? []} onClose={() => give(false)} />}
      {held && (
        <Confirm
          title={`Take ${String(held.binding.role)} of ${levelOf(held.binding)} from ${held.who}`}
          verb="Take it back"
          danger
          onClose={() => take(undefined)}
          act={() => declare('binding', held.binding.name, takenBack(held.binding, held.field, held.who))}
        >
          <p>What it let them do is refused from now on.</p>
        </Confirm>
      )}
    </Panel>
  );
}
