// Dialogs: the browser's own, which keep the focus inside and give it back.
import { useLayoutEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { ApiError } from '../api/http';
import { Trouble } from './elements';

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before it leaves the page: closing it gives the focus back.
  useLayoutEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    return () => shown.close();
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onCancel={(event) => (event.preventDefault(), onClose())}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

// What was written into a field, without blanks around it.
export const given = (form: FormData, field: string) => String(form.get(field) ?? '').trim();

// The warnings of the server's answer to what was done, if it is one.
function warningsIn(done: unknown): string[] {
  const warnings = (done as { warnings?: unknown } | undefined)?.warnings;
  return Array.isArray(warnings) ? warnings.map(String) : [];
}

function Warned({ title, warnings, onClose }: { title: string; warnings: string[]; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div role="status">
        <p>It is done, with warnings:</p>
        <ul className="warnings">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      </div>
      <div className="dialog-actions">
        <button onClick={onClose}>Close</button>
      </div>
    </Dialog>
  );
}

// Asks before `act` is done, and shows the server's own words when it is refused or warned about.
export function Confirm({
  title,
  verb,
  danger,
  onClose,
  act,
  children,
}: {
  title: string;
  verb: string;
  danger?: boolean;
  onClose: () => void;
  act: (form: FormData) => Promise<unknown>;
  children?: ReactNode;
}) {
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const [warnings, warn] = useState<string[]>([]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const said = warningsIn(await act(new FormData(event.currentTarget)));
      if (said.length === 0) return onClose();
      warn(said);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
      setBusy(false);
    }
  };
  if (warnings.length > 0) return <Warned title={title} warnings={warnings} onClose={onClose} />;
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        <Trouble error={error} />
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className={danger ? 'danger' : 'primary'} disabled={busy}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
