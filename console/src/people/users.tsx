// Users: whoever may, declares them here, gives them a token, and shuts them out.
import { useState } from 'react';
import { declare } from '../api/declared';
import { change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { Empty, Listing, Panel } from '../elements/elements';
import { managedProjects } from '../session/may';
import { useSession } from '../session/session';
import { Shown } from './shown_once';

const text = (value: unknown) => (typeof value === 'string' ? value : '');

function standing(user: Declared): string {
  if (user.disabled) return 'Disabled';
  return user.service_of ? `Service account of ${text(user.service_of)}` : 'Active';
}

function NewUser({ onClose }: { onClose: () => void }) {
  const act = (form: FormData) => {
    const fields = ['linux_user', 'domain', 'service_of'].map((field) => [field, given(form, field)] as const);
    return declare('user', given(form, 'name'), Object.fromEntries(fields.filter(([, text]) => text !== '')));
  };
  return (
    <Confirm title="A new user" verb="Declare the user" act={act} onClose={onClose}>
      <label>
        Name
        <input name="name" required maxLength={64} spellCheck={false} autoComplete="off" />
      </label>
      <label>
        Linux user, whose rights their tasks have
        <input name="linux_user" maxLength={32} placeholder="the one of that name" spellCheck={false} />
      </label>
      <label>
        Domain
        <input name="domain" maxLength={256} placeholder="none" spellCheck={false} />
      </label>
      <label>
        Service account of the project
        <input name="service_of" maxLength={256} placeholder="none: a person" spellCheck={false} />
      </label>
    </Confirm>
  );
}

// Managers of a project declare accounts that belong to it, for programs.
function NewServiceAccount({ projects, onClose }: { projects: string[]; onClose: () => void }) {
  const act = (form: FormData) => declare('user', given(form, 'name'), { service_of: given(form, 'project') });
  return (
    <Confirm title="A new service account" verb="Declare it" act={act} onClose={onClose}>
      <label>
        Name
        <input name="name" required maxLength={64} spellCheck={false} autoComplete="off" />
      </label>
      <label>
        Of the project
        <select name="project">
          {projects.map((project) => (
            <option key={project}>{project}</option>
          ))}
        </select>
      </label>
      <p className="faint">A program acts for it with a key, which managers of the project make.</p>
    </Confirm>
  );
}

type Asked = { user: Declared; about: 'token' | 'standing' };

export function Users() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>(
    '/v1/objects?kind=user&limit=10000',
    ['objects'],
    'objects',
  );
  const [making, make] = useState(false);
  const [asked, ask] = useState<Asked>();
  const [made, setMade] = useState<{ user: string; token: string }>();
  const managed = managedProjects(me);
  const issue = async (user: Declared) => {
    setMade(await change('POST', `/v1/users/${encodeURIComponent(user.name)}/token`));
    refresh('objects');
  };
  return (
    <Panel
      title="Users"
      actions={
        me.admin ? (
          <button onClick={() => make(true)}>New user</button>
        ) : (
          managed.length > 0 && <button onClick={() => make(true)}>New service account</button>
        )
      }
    >
      <Listing
        label="Users"
        columns={['Name', 'Linux user', 'Has a token', 'Domain', 'State']}
        items={data?.objects}
        error={error}
        lines={3}
        empty={
          <Empty title="No user is declared.">
            <p>
              <code>dove token create NAME --create</code> declares one and gives a token.
            </p>
          </Empty>
        }
      >
        {(user) => (
          <tr key={user.name}>
            <td className="strong">{user.name}</td>
            <td>{text(user.linux_user) || '–'}</td>
            <td>{user.has_token ? 'yes' : 'no'}</td>
            <td>{text(user.domain) || '–'}</td>
            <td>{standing(user)}</td>
            <td className="row-actions">
              {me.admin && (
                <>
                  <button
                    className="small"
                    aria-label={`New token for ${user.name}`}
                    onClick={() => ask({ user, about: 'token' })}
                  >
                    New token
                  </button>
                  <button
                    className={user.disabled ? 'small' : 'danger small'}
                    aria-label={`${user.disabled ? 'Let in' : 'Disable'} ${user.name}`}
                    onClick={() => ask({ user, about: 'standing' })}
                  >
                    {user.disabled ? 'Let in' : 'Disable'}
                  </button>
                </>
              )}
            </td>
          </tr>
        )}
      </Listing>
      {making &&
        (me.admin ? (
          <NewUser onClose={() => make(false)} />
        ) : (
          <NewServiceAccount projects={managed} onClose={() => make(false)} />
        ))}
      {asked?.about === 'token' && (
        <Confirm
          title={`A new token for ${asked.user.name}`}
          verb="Make the token"
          danger={Boolean(asked.user.has_token)}
          act={() => issue(asked.user)}
          onClose={() => ask(undefined)}
        >
          <p>{asked.user.has_token ? 'The one that they have is refused from then on.' : 'They have none yet.'}</p>
        </Confirm>
      )}
      {asked?.about === 'standing' && (
        <Confirm
          title={`${asked.user.disabled ? 'Let in' : 'Disable'} ${asked.user.name}`}
          verb={asked.user.disabled ? 'Let them in' : 'Disable them'}
          danger={!asked.user.disabled}
          act={() => declare('user', asked.user.name, { disabled: !asked.user.disabled })}
          onClose={() => ask(undefined)}
        >
          <p>
            {asked.user.disabled
              ? 'Their tokens, keys and sign-ins are good again.'
              : 'Their tokens, keys and sessions are refused, and nothing is submitted. Their jobs go on.'}
          </p>
        </Confirm>
      )}
      {made && (
        <Shown title={`The token of ${made.user}`} secret={made.token} onClose={() => setMade(undefined)}>
          Programs send it as <code>Authorization: Bearer …</code>; for <code>dove</code> it is <code>DOVE_TOKEN</code>.
        </Shown>
      )}
    </Panel>
  );
}
