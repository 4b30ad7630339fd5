// The sign-in page: a token or a key is exchanged for a cookie, and kept nowhere.
import { useState, type FormEvent } from 'react';
import { ApiError, change } from '../api/http';
import { Trouble } from '../elements/elements';
import { Mark } from '../frame/icons';

export function SignIn({ onSignedIn }: { onSignedIn: () => Promise<void> }) {
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const token = String(new FormData(form).get('token') ?? '').trim();
    setBusy(true);
    setError(undefined);
    try {
      await change('POST', '/v1/sign-in', { token });
      form.reset();
      await onSignedIn();
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
    setBusy(false);
  };
  return (
    <main className="sign-in">
      <Mark />
      <h1>Sign in to Dovetail</h1>
      <form onSubmit={submit}>
        <label htmlFor="token">Token or key</label>
        <input
          id="token"
          name="token"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          spellCheck={false}
        />
        <Trouble error={error} />
        <button type="submit" className="primary" disabled={busy}>
          Sign in
        </button>
      </form>
      <p className="faint">
        <code>dove console</code> prints a link that signs you in without it. An administrator gives you a token:{' '}
        <code>dove token create YOUR_NAME</code>.
      </p>
    </main>
  );
}
