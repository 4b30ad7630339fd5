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

export interface SignedIn {
  me?: Me | null; // null: nobody
  error?: ApiError;
}

export async function whoIsSignedIn(): Promise<SignedIn> {
  try {
    await followLink();
    return { me: await get<Me>('/v1/me') };
  } catch (problem) {
    if (!(problem instanceof ApiError)) return { error: new ApiError(0, 'failed', String(problem)) };
    return problem.status === 401 ? { me: null } : { error: problem };
  }
}

// Shows its children to whoever is signed in (`first`: when the page was opened), and the sign-in page to
// others. The address stays as it is, so that a deep link is followed after signing in.
export function SessionGate({ first, children }: { first: SignedIn; children: ReactNode }) {
  const [{ me, error }, setSignedIn] = useState(first);
  const setMe = useCallback((now: Me | null) => setSignedIn({ me: now }), []);
  const look = useCallback(async () => {
    const found = await whoIsSignedIn();
    setSignedIn((before) => (found.error ? { ...before, ...found } : found));
  }, []);

  useEffect(() => whenSignedOut(() => setMe(null)), [setMe]);
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
  if (!me) return <SignIn onSignedIn={look} />;
  const signOut = async () => {
    await change('POST', '/v1/sign-out');
    setMe(null);
  };
  return <SessionContext.Provider value={{ me, signOut }}>{children}</SessionContext.Provider>;
}
