// People: users, projects, and keys for programs.
import { Link } from 'wouter';
import { useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Empty, Page, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { mayAudit } from '../session/may';
import { useSession } from '../session/session';
import { Keys } from './keys';
import { Roles } from './roles';

function text(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : '';
}

function Users() {
  const { data, error } = useQuery<{ objects: Declared[] }>('/v1/objects?kind=user&limit=1000', ['objects']);
  return (
    <Panel title="Users">
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={3} />}
      {data && data.objects.length === 0 && (
        <Empty title="No user is declared.">
          <p>
            <code>dove token create NAME --create</code> declares one and gives a token.
          </p>
        </Empty>
      )}
      {data && data.objects.length > 0 && (
        <Table
          label="Users"
          head={['Name', 'Linux user', 'Has a token', 'Domain', 'State'].map((name) => (
            <th key={name}>{name}</th>
          ))}
        >
          {data.objects.map((user) => (
            <tr key={user.name}>
              <td className="strong">{user.name}</td>
              <td>{text(user.linux_user) || '–'}</td>
              <td>{user.has_token ? 'yes' : 'no'}</td>
              <td>{text(user.domain) || '–'}</td>
              <td>
                {user.disabled
                  ? 'Disabled'
                  : user.service_of
                    ? `Service account of ${text(user.service_of)}`
                    : 'Active'}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Projects() {
  const { data, error } = useQuery<{ objects: Declared[] }>('/v1/objects?kind=project&limit=1000', ['objects']);
  return (
    <Panel title="Projects">
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={3} />}
      {data && data.objects.length === 0 && <Empty title="No project is declared." />}
      {data && data.objects.length > 0 && (
        <Table
          label="Projects"
          head={['Name', 'Domain'].map((name) => (
            <th key={name}>{name}</th>
          ))}
        >
          {data.objects.map((project) => (
            <tr key={project.name}>
              <td className="strong">{project.name}</td>
              <td>{text(project.domain) || '–'}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

export default function PeoplePage() {
  const { me } = useSession();
  return (
    <Page
      title="People"
      detail={<span className="faint">{me.admin ? 'Everybody.' : 'You, and the projects that you are in.'}</span>}
      actions={
        mayAudit(me) && (
          <Link href="/audit" className="button">
            Audit
          </Link>
        )
      }
    >
      <Keys />
      <Users />
      <Roles />
      <Projects />
    </Page>
  );
}
