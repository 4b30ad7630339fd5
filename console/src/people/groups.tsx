// Groups: whoever may, declares them here, and says who is in them.
import { useState } from 'react';
import { declare } from '../api/declared';
import { useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { Empty, Listing, Panel } from '../elements/elements';
import { mayRunDomain, runsADomain } from '../session/may';
import { useSession } from '../session/session';
import { list, namesIn } from './grants';
import { TakeBack } from './take_back';

const domainOf = (group: Declared) => String(group.domain ?? '');

// A new group, or the members of one that is there.
function GroupForm({ group, onClose }: { group?: Declared; onClose: () => void }) {
  const { me } = useSession();
  const act = (form: FormData) => {
    const members = { users: namesIn(given(form, 'users')), groups: namesIn(given(form, 'groups')) };
    if (group) return declare('group', group.name, { ...members, version: group.version });
    const domain = given(form, 'domain');
    return declare('group', given(form, 'name'), domain ? { ...members, domain } : members);
  };
  return (
    <Confirm
      title={group ? `The members of ${group.name}` : 'A new group'}
      verb={group ? 'Set them' : 'Declare the group'}
      act={act}
      onClose={onClose}
    >
      {!group && (
        <>
          <label>
            Name
            <input name="name" required maxLength={256} spellCheck={false} autoComplete="off" />
          </label>
          <label>
            Domain
            <input
              name="domain"
              required={!me.admin}
              maxLength={256}
              placeholder={me.admin ? 'none: the cluster’s' : 'whose administrators change it'}
              spellCheck={false}
            />
          </label>
        </>
      )}
      <label>
        Users
        <textarea name="users" rows={3} defaultValue={list(group?.users).join(' ')} spellCheck={false} />
      </label>
      <label>
        Groups, with all of their users
        <input name="groups" defaultValue={list(group?.groups).join(' ')} spellCheck={false} />
      </label>
      <p className="faint">Separate names with spaces or commas.</p>
    </Confirm>
  );
}

export function Groups() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>(
    '/v1/objects?kind=group&limit=10000',
    ['objects'],
    'objects',
  );
  const [asked, ask] = useState<{ group?: Declared }>();
  return (
    <Panel title="Groups" actions={runsADomain(me) && <button onClick={() => ask({})}>New group</button>}>
      <Listing
        label="Groups"
        columns={['Name', 'Domain', 'Users', 'Groups']}
        items={data?.objects}
        error={error}
        lines={3}
        empty={<Empty title="No group is declared." />}
      >
        {(group) => (
          <tr key={group.name}>
            <td className="strong">{group.name}</td>
            <td>{domainOf(group) || '–'}</td>
            <td className="wrapped">{list(group.users).join(', ') || '–'}</td>
            <td className="wrapped">{list(group.groups).join(', ') || '–'}</td>
            <td className="row-actions">
              {mayRunDomain(me, domainOf(group)) && (
                <>
                  <button
                    className="small"
                    aria-label={`Change the members of ${group.name}`}
                    onClick={() => ask({ group })}
                  >
                    Members
                  </button>
                  <TakeBack kind="group" name={group.name}>
                    Roles that name it give its members nothing any more.
                  </TakeBack>
                </>
              )}
            </td>
          </tr>
        )}
      </Listing>
      {asked && <GroupForm group={asked.group} onClose={() => ask(undefined)} />}
    </Panel>
  );
}
