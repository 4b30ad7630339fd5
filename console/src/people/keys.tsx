// Keys for programs: made here, shown once, revoked here.
import { useState, type FormEvent } from 'react';
import { ApiError, change, withQuery } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { Key, NewKey } from '../api/types';
import { Confirm, Dialog } from '../elements/dialog';
import { Empty, Listing, Panel, Time, Trouble } from '../elements/elements';
import { words } from '../elements/format';
import { managedProjects } from '../session/may';
import { useSession } from '../session/session';
import { Shown } from './shown_once';

const SCOPES = [
  { scope: 'read', says: 'Read: see, change nothing' },
  { scope: 'jobs', says: 'Jobs: own jobs, too' },
  { scope: 'all', says: 'All: whatever its user may' },
  { scope: 'log', says: 'Log: copy the log, nothing else' },
];
const LIVES = [
  { ttl: 86400, says: '1 day' },
  { ttl: 30 * 86400, says: '30 days' },
  { ttl: 90 * 86400, says: '90 days' },
  { ttl: 365 * 86400, says: '1 year' },
];

function NewKeyForm({ own, onClose, onMade }: { own: boolean; onClose: () => void; onMade: (key: NewKey) => void }) {
  const { me } = useSession();
  const [error, setError] = useState<ApiError>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const user = String(form.get('user') ?? '').trim();
    try {
      const made = await change<NewKey>('POST', '/v1/keys', {
        name: String(form.get('name')).trim(),
        scope: form.get('scope'),
        ttl_s: Number(form.get('ttl')),
        ...(user ? { user } : {}),
      });
      refresh('keys');
      onMade(made);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
  };
  return (
    <Dialog title="A new key" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          What it is for
          <input name="name" required maxLength={64} placeholder="nightly evaluation" autoFocus />
        </label>
        <label>
          Good for
          <select name="scope" defaultValue="jobs">
            {SCOPES.map(({ scope, says }) => (
              <option key={scope} value={scope}>
                {says}
              </option>
            ))}
          </select>
        </label>
        <label>
          Ends after
          <select name="ttl" defaultValue={90 * 86400}>
            {LIVES.map(({ ttl, says }) => (
              <option key={ttl} value={ttl}>
                {says}
              </option>
            ))}
          </select>
        </label>
        {(me.admin || managedProjects(me).length > 0) && !own && (
          <label>
            {me.admin ? 'User' : 'Service account'}
            <input name="user" maxLength={64} placeholder={me.user || 'whose it is'} required={!me.user} />
          </label>
        )}
        <Trouble error={error} />
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className="primary">
            Make the key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

// Those of `user`; left out: all that the caller may see.
export function Keys({ user }: { user?: string }) {
  const { me } = useSession();
  const { data, error } = useQuery<{ keys: Key[] }>(withQuery('/v1/keys', { user, limit: 10000 }), ['keys'], 'keys');
  const keys = data?.keys.filter((key) => key.kind !== 'code');
  const [making, make] = useState(false);
  const [made, setMade] = useState<NewKey>();
  const [revoked, revoke] = useState<Key>();
  return (
    <Panel title="Keys and sessions" actions={<button onClick={() => make(true)}>New key</button>}>
      <Listing
        label="Keys"
        columns={['Name', 'Kind', 'User', 'Good for', 'Made', 'Ends', 'Id']}
        items={keys}
        error={error}
        lines={3}
        empty={
          <Empty title="There are no keys.">
            <p>A key lets a program act for its user, within a scope, until it ends.</p>
          </Empty>
        }
      >
        {(key) => (
          <tr key={key.id}>
            <td className="strong">{key.name}</td>
            <td>{key.kind === 'session' ? `Browser${key.id === me.key?.id ? ', this one' : ''}` : 'Program'}</td>
            <td>{key.user}</td>
            <td>{words(key.scope)}</td>
            <td>
              <Time us={key.issued_at_us} />
            </td>
            <td>
              <Time us={key.expires_at_us} />
            </td>
            <td className="code-cell">{key.id}</td>
            <td>
              <button className="danger small" onClick={() => revoke(key)} aria-label={`Revoke ${key.name}`}>
                Revoke
              </button>
            </td>
          </tr>
        )}
      </Listing>
      {making && (
        <NewKeyForm
          own={user !== undefined}
          onClose={() => make(false)}
          onMade={(key) => (make(false), setMade(key))}
        />
      )}
      {made && (
        <Shown title={`The key “${made.name}”`} secret={made.key} onClose={() => setMade(undefined)}>
          Programs send it as <code>Authorization: Bearer …</code>; for <code>dove</code> it is <code>DOVE_TOKEN</code>.
        </Shown>
      )}
      {revoked && (
        <Confirm
          title={`Revoke the key “${revoked.name}”`}
          verb="Revoke it"
          danger
          onClose={() => revoke(undefined)}
          act={async () => (await change('DELETE', `/v1/keys/${revoked.id}`), refresh('keys'))}
        >
          <p>Whatever uses it is refused from now on.</p>
        </Confirm>
      )}
    </Panel>
  );
}
