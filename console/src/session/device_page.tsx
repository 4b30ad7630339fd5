// A program asks to be let in (`dove login`): whoever is signed in compares its code and says yes or no.
import { useState, type FormEvent } from 'react';
import { ApiError, change, get } from '../api/http';
import { Page, Time, Trouble } from '../elements/elements';
import { useSession } from './session';

interface Asking {
  user_code: string;
  name: string;
  address: string;
  asked_at_us: number;
}

type Step = { at: 'code' } | { at: 'question'; asking: Asking } | { at: 'done'; letIn: boolean; name: string };

const errorOf = (problem: unknown) =>
  problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem));

export function DevicePage() {
  const { me } = useSession();
  const [step, setStep] = useState<Step>({ at: 'code' });
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const offered = new URLSearchParams(location.search).get('code') ?? '';

  const doing = async (what: () => Promise<Step>) => {
    setBusy(true);
    setError(undefined);
    try {
      setStep(await what());
    } catch (problem) {
      setError(errorOf(problem));
    }
    setBusy(false);
  };
  const look = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code') ?? '').trim();
    void doing(async () => ({
      at: 'question',
      asking: await get<Asking>(`/v1/device-sign-ins/${encodeURIComponent(code)}`),
    }));
  };
  const answer = (asking: Asking, letIn: boolean) =>
    doing(async () => {
      await change('POST', `/v1/device-sign-ins/${encodeURIComponent(asking.user_code)}`, { approve: letIn });
      return { at: 'done', letIn, name: asking.name };
    });

  return (
    <Page title="Let a program in">
      {step.at === 'code' && (
        <form onSubmit={look} className="ask">
          <label htmlFor="code">The code that the program shows</label>
          <input
            id="code"
            name="code"
            defaultValue={offered}
            required
            autoFocus
            autoComplete="off"
            spellCheck={false}
          />
          <button type="submit" className="primary" disabled={busy}>
            Go on
          </button>
        </form>
      )}
      {step.at === 'question' && (
        <section className="ask" aria-label="The program that asks">
          <p>
            <strong>{step.asking.name}</strong> asks to be let in as <strong>{me.user}</strong>. It called from{' '}
            <code>{step.asking.address}</code> <Time us={step.asking.asked_at_us} />.
          </p>
          <p>
            Let it in only if you started it just now, and it shows <code>{step.asking.user_code}</code>. It can then do
            for 30 days what you can do; its key is listed under People.
          </p>
          <div className="dialog-actions">
            <button className="primary" disabled={busy} onClick={() => void answer(step.asking, true)}>
              Let it in
            </button>
            <button disabled={busy} onClick={() => void answer(step.asking, false)}>
              Refuse
            </button>
          </div>
        </section>
      )}
      {step.at === 'done' && (
        <p role="status">
          {step.letIn
            ? `${step.name} is signed in as ${me.user}. You can close this page.`
            : `${step.name} was refused.`}
        </p>
      )}
      <Trouble error={error} />
    </Page>
  );
}
