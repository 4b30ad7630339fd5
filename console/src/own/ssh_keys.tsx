// The SSH keys that let somebody into their running jobs.
import { useState, type FormEvent } from 'react';
import { ApiError, change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { SshGateway, SshKey } from '../api/types';
import { Confirm, Dialog } from '../elements/dialog';
import { Empty, Listing, Panel, Trouble } from '../elements/elements';

function AddKey({ path, onClose }: { path: string; onClose: () => void }) {
  const [error, setError] = useState<ApiError>();
  const [added, setAdded] = useState<SshKey>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setError(undefined);
    const key = String(new FormData(event.currentTarget).get('key') ?? '').trim();
    try {
      const made = await change<SshKey>('POST', path, { key });
      refresh('objects');
      if (made.warnings.length === 0) return onClose();
      setAdded(made);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
  };
  if (added)
    return (
      <Dialog title="The key is added" onClose={onClose}>
        {added.warnings.map((warning) => (
          <p key={warning} role="status">
            {warning}
          </p>
        ))}
        <div className="dialog-actions">
          <button className="primary" autoFocus onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="Another SSH key" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          The line of the file that ends in .pub
          <textarea
            name="key"
            rows={5}
            required
            maxLength={16384}
            spellCheck={false}
            autoFocus
            placeholder="ssh-ed25519 AAAA… you@laptop"
            aria-invalid={error ? true : undefined}
            aria-describedby={error ? 'key-error' : undefined}
          />
        </label>
        <div id="key-error">
          <Trouble error={error} />
        </div>
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className="primary">
            Add the key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

// How to get in, where there is a gateway; nothing where there is none.
function Gateway() {
  const { data } = useQuery<SshGateway>('/v1/ssh-gateway', []);
  if (!data) return <p className="faint">This cluster has no SSH gateway now, so that keys have no effect yet.</p>;
  return (
    <p className="faint">
      With a key here: <code>{`ssh -p ${data.port} JOB@${data.address}`}</code>. <code>dove ssh JOB</code> needs none.
    </p>
  );
}

export function SshKeys({ user }: { user: string }) {
  const path = `/v1/users/${encodeURIComponent(user)}/ssh-keys`;
  const { data, error } = useQuery<{ keys: SshKey[] }>(path, ['objects']);
  const [adding, add] = useState(false);
  const [removed, remove] = useState<SshKey>();
  return (
    <Panel title="SSH keys" actions={<button onClick={() => add(true)}>Add an SSH key</button>}>
      <Gateway />
      <Listing
        label="SSH keys"
        columns={['Comment', 'Kind', 'Id']}
        items={data?.keys}
        error={error}
        lines={2}
        empty={<Empty title="There is no SSH key." />}
      >
        {(key) => (
          <tr key={key.id}>
            <td className="strong">
              {key.comment || <span className="faint">none</span>}
              {key.warnings.map((warning) => (
                <div key={warning} className="faint wrapped">
                  {warning}
                </div>
              ))}
            </td>
            <td>{key.kind}</td>
            <td className="code-cell">{key.id}</td>
            <td className="row-actions">
              <button
                className="danger small"
                onClick={() => remove(key)}
                aria-label={`Remove ${key.comment || key.id}`}
              >
                Remove
              </button>
            </td>
          </tr>
        )}
      </Listing>
      {adding && <AddKey path={path} onClose={() => add(false)} />}
      {removed && (
        <Confirm
          title={`Remove the SSH key ${removed.comment || removed.id}`}
          verb="Remove it"
          danger
          onClose={() => remove(undefined)}
          act={async () => (await change('DELETE', `${path}/${removed.id}`), refresh('objects'))}
        >
          <p>It lets nobody in any more, and what it has opened is ended.</p>
        </Confirm>
      )}
    </Panel>
  );
}
