// Who holds which role, and where.
import { useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Empty, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { words } from '../elements/format';
import { useSession } from '../session/session';

function list(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function levelOf(binding: Declared): string {
  if (binding.project) return `project ${String(binding.project)}`;
  if (binding.domain) return `domain ${String(binding.domain)}`;
  return 'the cluster';
}

export function Roles() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>('/v1/objects?kind=binding&limit=1000', ['objects']);
  const own = me.roles.map(
    (role) => `${role.role} of ${role.level === 'cluster' ? 'the cluster' : `${role.level} ${role.name}`}`,
  );
  const standing =
    own.length > 0
      ? `You are ${own.join(', ')}.`
      : me.admin
        ? 'You are the administrator.'
        : 'You have no role beyond your own jobs.';
  return (
    <Panel title="Roles" actions={<span className="faint">{standing}</span>}>
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
              <td>{list(binding.users).join(', ') || '–'}</td>
              <td>{list(binding.groups).join(', ') || '–'}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
