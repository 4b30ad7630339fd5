// The sign-in page: a sign-in service's page is one click away, and a token or a key is exchanged for
// a cookie, and kept nowhere.
import { useEffect, useState, type FormEvent } from 'react';
import { ApiError, change, get, withQuery } from '../api/http';
import { Trouble } from '../elements/elements';
import { Mark } from '../frame/icons';

interface Way {
  name: string;
  title: string;
}

interface Ways {
  ways: Way[];
  passwords: boolean;
  local_passwords: boolean;
  site_passwords: boolean;
}

// What this server's administrator has set up, beside tokens.
function useWays(): Ways {
  const none = { ways: [], passwords: false, local_passwords: false, site_passwords: false };
  const [ways, setWays] = useState<Ways>(none);
  useEffect(() => {
    get<Ways>('/v1/sign-in').then(setWays, () => undefined); // a token does without them
  }, []);
  return ways;
}

function PasswordFields({ label }: { label: string }) {
  return (
    <>
      <label htmlFor="user">{label}</label>
      <input id="user" name="user" autoComplete="username" required autoFocus spellCheck={false} />
      <label htmlFor="password">Password</label>
      <input id="password" name="password" type="password" autoComplete="current-password" required />
    </>
  );
}

// Asked once the password was right, and somebody else has set it.
function NewPasswordFields() {
  return (
    <>
      <label htmlFor="new_password">New password, of 12 characters at least</label>
      <input id="new_password" name="new_password" type="password" autoComplete="new-password" required autoFocus />
      <label htmlFor="repeated">The same again</label>
      <input id="repeated" name="repeated" type="password" autoComplete="new-password" required />
    </>
  );
}

function TokenField() {
  return (
    <>
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
    </>
  );
}

function shownIn(form: HTMLFormElement): Record<string, string> {
  const data = new FormData(form);
  const token = data.get('token');
  if (token !== null) return { token: String(token).trim() };
  const shown = { user: String(data.get('user') ?? '').trim(), password: String(data.get('password') ?? '') };
  const wanted = data.get('new_password');
  if (wanted === null) return shown;
  if (wanted !== data.get('repeated')) {
    throw new ApiError(0, 'not_the_same', 'These are two different passwords: type the new one twice.', 'repeated');
  }
  return { ...shown, new_password: String(wanted) };
}

const linkOf = (way: Way) =>
  withQuery(`/v1/sign-in/${encodeURIComponent(way.name)}`, { then: location.pathname + location.search });

export function SignIn({ onSignedIn }: { onSignedIn: () => Promise<void> }) {
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const { ways, passwords, local_passwords, site_passwords } = useWays();
  const [choosesAnother, setChoosesAnother] = useState(false);
  const [withToken, setWithToken] = useState(false);
  const asksPassword = passwords && !withToken;
  const nameLabel = local_passwords || site_passwords ? 'User' : 'Linux account';
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    setBusy(true);
    setError(undefined);
    try {
      await change('POST', '/v1/sign-in', shownIn(form));
      form.reset();
      setChoosesAnother(false);
      await onSignedIn();
    } catch (problem) {
      if (problem instanceof ApiError && problem.code === 'new_password_needed') setChoosesAnother(true);
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
    setBusy(false);
  };
  return (
    <main className="sign-in">
      <Mark />
      <h1>Sign in to Dovetail</h1>
      {ways.map((way) => (
        <a key={way.name} className="way primary" href={linkOf(way)}>
          Sign in with {way.title}
        </a>
      ))}
      <form onSubmit={submit}>
        {asksPassword ? <PasswordFields label={nameLabel} /> : <TokenField />}
        {asksPassword && choosesAnother && <NewPasswordFields />}
        <Trouble error={error} />
        <button type="submit" className="primary" disabled={busy}>
          Sign in
        </button>
        {passwords && (
          <button type="button" onClick={() => setWithToken(!withToken)}>
            {asksPassword ? 'Use a token or a key' : 'Use a password'}
          </button>
        )}
      </form>
      <p className="faint">
        <code>dove console</code> prints a link that signs you in. An administrator gives you a token:{' '}
        <code>dove token create YOUR_NAME</code>.
      </p>
    </main>
  );
}
