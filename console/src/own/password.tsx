// The password that somebody signs in with here, where they have one that only this server knows.
import { useState, type FormEvent } from 'react';
import { ApiError, change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Dialog } from '../elements/dialog';
import { Panel, Trouble } from '../elements/elements';

function ChangePassword({ user, onClose }: { user: string; onClose: (ended: number) => void }) {
  const [error, setError] = useState<ApiError>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setError(undefined);
    const form = new FormData(event.currentTarget);
    const [former, password, repeated] = ['former', 'password', 'repeated'].map((name) => String(form.get(name) ?? ''));
    try {
      if (password !== repeated) {
        throw new ApiError(0, 'not_the_same', 'These are two different passwords: type the new one twice.');
      }
      const path = `/v1/users/${encodeURIComponent(user)}/password`;
      const answer = await change<{ sessions_ended: number }>('PUT', path, { former, password });
      refresh('objects');
      onClose(answer.sessions_ended);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
  };
  return (
    <Dialog title="Another password" onClose={() => onClose(-1)}>
      <form onSubmit={submit}>
        <input name="username" autoComplete="username" defaultValue={user} readOnly hidden />
        <label>
          Former password
          <input name="former" type="password" autoComplete="current-password" required autoFocus />
        </label>
        <label>
          New password, of 12 characters at least
          <input name="password" type="password" autoComplete="new-password" required />
        </label>
        <label>
          The same again
          <input name="repeated" type="password" autoComplete="new-password" required />
        </label>
        <Trouble error={error} />
        <div className="dialog-actions">
          <button type="button" onClick={() => onClose(-1)}>
            Back
          </button>
          <button type="submit" className="primary">
            Change the password
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Password({ user }: { user: string }) {
  const { data } = useQuery<Declared>(`/v1/objects/user/${encodeURIComponent(user)}`, ['objects']);
  const [changes, setChanges] = useState(false);
  const [ended, setEnded] = useState(-1);
  if (!data?.has_password) return null; // an administrator gives the first one
  return (
    <Panel title="Password" actions={<button onClick={() => setChanges(true)}>Change your password</button>}>
      <p className="faint" role="status">
        {ended < 0
          ? 'What you sign in with here. A new one ends your sessions in other browsers.'
          : `Your password is changed; other sessions that ended: ${ended}.`}
      </p>
      {changes && (
        <ChangePassword
          user={user}
          onClose={(count) => {
            setChanges(false);
            if (count >= 0) setEnded(count);
          }}
        />
      )}
    </Panel>
  );
}
