// Session: who is signed in. The cookie is the server's business; this asks who it says.
import { createContext, useCallback, useContext, useEffect, useState, type ReactNode } from 'react';
import { ApiError, change, get, whenSignedOut } from '../api/http';
import { startLive, stopLive } from '../api/live';
import { forgetAll } from '../api/query';
import type { Me } from '../api/types';
import { Trouble } from '../elements/elements';
import { SignIn } from './sign_in';

interface Session {
  me: Me;
  signOut: () => Promise<void>;
}

const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('REQUIRES: inside SessionGate');
  return session;
}

// The link of `dove console` brings a code, which signs in once. It leaves the address at once.
async function followLink() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await change('POST', '/v1/sign-in', { token: code });
  } catch (problem) {
    // A link that was used or is too old signs nobody in, and nobody out.
    if (!(problem instanceof ApiError) || problem.status !== 401) throw problem;
  }
}

// Shows its children to whoever is signed in, and the sign-in page to others. The address stays as
// it is, so that a deep link is followed after signing in.
export function SessionGate({ children }: { children: ReactNode }) {
  const [me, setMe] = useState<Me | null | undefined>(undefined);
  const [error, setError] = useState<ApiError>();

  const look = useCallback(async () => {
    try {
      await followLink();
      setMe(await get<Me>('/v1/me'));
      setError(undefined);
    } catch (problem) {
      if (problem instanceof ApiError && problem.status === 401) setMe(null);
      else if (problem instanceof ApiError) setError(problem);
    }
  }, []);

  useEffect(() => void look(), [look]);
  useEffect(() => whenSignedOut(() => setMe(null)), []);
  useEffect(() => {
    if (!me) return;
    startLive();
    return () => {
      stopLive();
      forgetAll();
    };
  }, [me]);

  if (error && !me) {
    return (
      <main className="sign-in">
        <Trouble error={error} />
        <button onClick={() => void look()}>Try again</button>
      </main>
    );
  }
  if (me === undefined) return null;
  if (me === null) return <SignIn onSignedIn={look} />;
  const signOut = async () => {
    await change('POST', '/v1/sign-out');
    setMe(null);
  };
  return <SessionContext.Provider value={{ me, signOut }}>{children}</SessionContext.Provider>;
}
