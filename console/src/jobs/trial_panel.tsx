// What would become of the form if it were submitted now: tried by the server, and not submitted.
import { useEffect, useRef, useState } from 'react';
import { ApiError, send } from '../api/http';
import type { TriedSubmission } from '../api/types';
import { Panel, Time } from '../elements/elements';
import { words } from '../elements/format';

const STILL_MS = 500;

export interface Trial {
  tried?: TriedSubmission;
  error?: ApiError;
}

async function tryIt(job: unknown, signal: AbortSignal): Promise<Trial> {
  try {
    const answer = await send('/v1/jobs?dry_run=1', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(job),
      signal,
    });
    return { tried: (await answer.json()) as TriedSubmission };
  } catch (problem) {
    if (signal.aborted) throw problem;
    return { error: problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)) };
  }
}

// Tries what the form says once nothing was typed for a moment; `look` says that it may have changed. What the browser
// itself finds wrong is not tried. `jobOf` makes a submission of the form's fields.
export function useTrial<Shape>(
  form: React.RefObject<HTMLFormElement | null>,
  jobOf: (shape: Shape) => unknown,
): { trial: Trial; look: () => void } {
  const [trial, setTrial] = useState<Trial>({});
  const timer = useRef<number>(undefined);
  const asking = useRef<AbortController>(undefined);
  const look = useRef(() => {
    clearTimeout(timer.current);
    asking.current?.abort();
    timer.current = window.setTimeout(() => {
      if (!form.current) return;
      if (!form.current.checkValidity()) return setTrial({});
      const mine = (asking.current = new AbortController());
      const shape = Object.fromEntries(new FormData(form.current)) as unknown as Shape;
      tryIt(jobOf(shape), mine.signal).then(setTrial, () => undefined);
    }, STILL_MS);
  });
  useEffect(() => {
    look.current();
    return () => {
      clearTimeout(timer.current);
      asking.current?.abort();
    };
  }, []);
  return { trial, look: look.current };
}

export function TrialPanel({ trial, title = 'If you submit it now' }: { trial: Trial; title?: string }) {
  const { tried, error } = trial;
  return (
    <Panel title={title} className="trial">
      <div role="status">
        {!tried && !error && <p className="faint">What you type is tried, and not submitted.</p>}
        {error && <p className="trouble-text">It is refused: {error.message}</p>}
        {tried?.starts_at_once && <p>It starts at once.</p>}
        {tried && !tried.starts_at_once && <p>It waits:</p>}
        {tried && tried.reasons.length > 0 && (
          <ul className="reasons">
            {tried.reasons.map((reason, at) => (
              <li key={at}>
                <span className="tag">{words(reason.kind)}</span>
                <span>{reason.text}</span>
                {reason.until_us && (
                  <span className="faint">
                    until <Time us={reason.until_us} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
        {tried && tried.warnings.length > 0 && (
          <ul className="warnings">
            {tried.warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  );
}
