// The secrets that somebody's jobs may have: names and owners. No value is ever read back.
import { useState, type FormEvent } from 'react';
import { ApiError, change, send, withQuery } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { Secret } from '../api/types';
import { Confirm, Dialog } from '../elements/dialog';
import { Empty, Listing, Panel, Time, Trouble } from '../elements/elements';
import { useSession } from '../session/session';

const LIMIT_BYTES = 64 * 1024;

function pathOf(name: string, project: string): string {
  return withQuery(`/v1/secrets/${encodeURIComponent(name)}`, { project });
}

// A file's bytes go as they are; of typed text nothing is taken off, a last line's end included.
async function valueOf(form: FormData): Promise<Blob> {
  const file = form.get('file');
  if (file instanceof File && file.size > 0) return file;
  return new Blob([String(form.get('value') ?? '')]);
}

function SetSecret({ known, projects, onClose }: { known?: Secret; projects: string[]; onClose: () => void }) {
  const [error, setError] = useState<ApiError>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setError(undefined);
    const form = new FormData(event.currentTarget);
    const name = known?.name ?? String(form.get('name') ?? '').trim();
    const project = known?.project ?? String(form.get('project') ?? '');
    try {
      const value = await valueOf(form);
      if (value.size === 0) throw new ApiError(0, 'empty_secret', 'Type a value, or choose a file that is not empty.');
      if (value.size > LIMIT_BYTES) throw new ApiError(0, 'secret_too_large', 'A secret has at most 64 KiB.');
      await send(pathOf(name, project), {
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        body: value,
      });
      refresh('objects');
      onClose();
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
  };
  return (
    <Dialog title={known ? `A new value of ${known.name}` : 'Another secret'} onClose={onClose}>
      <form onSubmit={submit} autoComplete="off">
        {!known && (
          <label>
            Name
            <input name="name" required maxLength={64} autoFocus spellCheck={false} placeholder="hub" />
          </label>
        )}
        {!known && projects.length > 0 && (
          <label>
            Whose it is
            <select name="project">
              <option value="">Mine: jobs that I submit</option>
              {projects.map((project) => (
                <option key={project} value={project}>
                  Project {project}: all of its jobs
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Value
          <input name="value" type="password" autoComplete="new-password" autoFocus={known !== undefined} />
        </label>
        <label>
          Or the content of a file
          <input name="file" type="file" />
        </label>
        <Trouble error={error} />
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className="primary">
            Keep the secret
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Secrets({ user }: { user: string }) {
  const { me } = useSession();
  const { data, error } = useQuery<{ secrets: Secret[] }>(
    withQuery('/v1/secrets', { limit: 10000 }),
    ['objects'],
    'secrets',
  );
  const managed = me.roles
    .filter((role) => role.level === 'project' && role.role === 'manager')
    .map(({ name }) => name);
  // An administrator sees everybody's; this page is about one's own.
  const secrets = data?.secrets.filter((secret) => secret.project || secret.user === user);
  const mayChange = (secret: Secret) => !secret.project || me.admin || managed.includes(secret.project);
  const [setting, set] = useState<Secret | 'new'>();
  const [removed, remove] = useState<Secret>();
  return (
    <Panel title="Secrets" actions={<button onClick={() => set('new')}>Add a secret</button>}>
      <p className="faint">
        Tokens and keys that tasks get at their start: <code>--secret hub=HUB_TOKEN</code>. Nobody can read a value
        back.
      </p>
      <Listing
        label="Secrets"
        columns={['Name', 'Whose', 'Set']}
        items={secrets}
        error={error}
        lines={2}
        empty={<Empty title="There is no secret." />}
      >
        {(secret) => {
          const shown = secret.project ? `${secret.project}/${secret.name}` : secret.name;
          return (
            <tr key={shown}>
              <td className="strong">{shown}</td>
              <td>{secret.project ? `Project ${secret.project}` : 'Yours'}</td>
              <td>
                <Time us={secret.set_at_us} />
              </td>
              <td className="row-actions">
                {mayChange(secret) && (
                  <>
                    <button className="small" onClick={() => set(secret)} aria-label={`Set a new value of ${shown}`}>
                      New value
                    </button>
                    <button className="danger small" onClick={() => remove(secret)} aria-label={`Remove ${shown}`}>
                      Remove
                    </button>
                  </>
                )}
              </td>
            </tr>
          );
        }}
      </Listing>
      {setting && (
        <SetSecret known={setting === 'new' ? undefined : setting} projects={managed} onClose={() => set(undefined)} />
      )}
      {removed && (
        <Confirm
          title={`Remove the secret ${removed.name}`}
          verb="Remove it"
          danger
          onClose={() => remove(undefined)}
          act={async () => (await change('DELETE', pathOf(removed.name, removed.project)), refresh('objects'))}
        >
          <p>No task gets it any more; those that run keep what they have. Jobs that ask for it fail to start.</p>
        </Confirm>
      )}
    </Panel>
  );
}
