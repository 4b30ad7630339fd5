// Submitting a job by a form; the server says what is wrong with it, and where.
import { createContext, useContext, useMemo, useRef, useState, type FormEvent } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { ApiError, change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { Job, QueueInUse, Submitted } from '../api/types';
import { Page, Panel, Skeleton, Trouble } from '../elements/elements';
import { likeOf, submissionOf, type Shape } from './submission';
import { fieldOf } from './trial';
import { TrialPanel, useTrial } from './trial_panel';

// What is wrong with the form, by field.
const Wrong = createContext<{ field: string; text: string }>({ field: '', text: '' });

// Says which text a field's is, besides its hint, and that it is wrong.
function useWrong(name: string, hint = '') {
  const wrong = useContext(Wrong);
  const is = wrong.field === name;
  const described = [hint, is ? `${name}-wrong` : ''].filter(Boolean).join(' ') || undefined;
  return {
    marks: { 'aria-invalid': is || undefined, 'aria-describedby': described },
    note: is && (
      <span id={`${name}-wrong`} className="trouble-text">
        {wrong.text}
      </span>
    ),
  };
}

function Field({
  name,
  label,
  hint,
  ...input
}: { name: string; label: string; hint?: string } & React.InputHTMLAttributes<HTMLInputElement>) {
  const { marks, note } = useWrong(name, hint ? `${name}-hint` : '');
  return (
    <div className="field">
      <label htmlFor={name}>{label}</label>
      <input id={name} name={name} maxLength={256} {...marks} {...input} />
      {note}
      {hint && (
        <span id={`${name}-hint`} className="faint">
          {hint}
        </span>
      )}
    </div>
  );
}

function scriptOf(again: Job | undefined): string {
  const exec = again?.exec as { script?: string; command?: string[] } | null | undefined;
  if (exec?.script) return exec.script;
  if (exec?.command)
    return `#!/bin/bash\n${exec.command.map((word) => (/^[\w./=:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')}\n`;
  return '#!/bin/bash\nhostname\n';
}

function ScriptField({ again }: { again?: Job }) {
  const { marks, note } = useWrong('script');
  return (
    <div className="field wide">
      <label htmlFor="script">Script</label>
      <textarea
        id="script"
        name="script"
        rows={10}
        required
        spellCheck={false}
        maxLength={4194304}
        defaultValue={scriptOf(again)}
        {...marks}
      />
      {note}
      <span className="faint">
        It runs once, on the first node; <code>srun</code> and <code>mpirun</code> in it start the tasks.
      </span>
    </div>
  );
}

function Fields({ again }: { again?: Job }) {
  const queues = useQuery<{ queues: QueueInUse[] }>('/v1/queues', ['queues'], 'queues');
  const like = again && likeOf(again);
  const queue = useWrong('queue');
  return (
    <div className="fields">
      <Field name="name" label="Name" required defaultValue={again?.name ?? 'console'} />
      <div className="field">
        <label htmlFor="queue">Queue</label>
        <select
          id="queue"
          name="queue"
          key={queues.data ? 'known' : ''}
          defaultValue={again?.queue ?? 'default'}
          {...queue.marks}
        >
          {(queues.data?.queues ?? [{ name: 'default' }]).map((queue) => (
            <option key={queue.name as string}>{queue.name as string}</option>
          ))}
        </select>
        {queue.note}
      </div>
      <Field name="tasks" label="Tasks" type="number" min={1} max={100000} required defaultValue={like?.tasks ?? 1} />
      <Field
        name="gpus"
        label="GPUs per task"
        hint="0.5 is half of one"
        inputMode="decimal"
        pattern="[0-9.]*"
        defaultValue={like?.gpus}
      />
      <Field name="cores" label="Cores per task" type="number" min={1} defaultValue={like?.cores ?? 1} />
      <Field name="memory" label="Memory per task" hint="such as 16Gi" defaultValue={like?.memory} />
      <Field name="time_limit" label="Time limit" hint="such as 2h, or 1-12:00:00" defaultValue={like?.time_limit} />
      <Field name="project" label="Project" defaultValue={again?.project} />
      <Field name="priority" label="Priority" type="number" defaultValue={again?.priority ?? ''} />
      <Field name="label" label="Label" hint="other jobs name it by" maxLength={64} defaultValue={again?.label} />
    </div>
  );
}

function Warned({ done }: { done: Submitted }) {
  return (
    <Panel title="Submitted, with warnings">
      <ul>
        {done.warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
      <p>
        <Link href={`/jobs/${done.id}`}>Job {done.id}</Link>
      </p>
    </Panel>
  );
}

function SubmitForm({ again }: { again?: Job }) {
  const [, go] = useLocation();
  const [error, setError] = useState<ApiError>();
  const [done, setDone] = useState<Submitted>();
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { trial, look } = useTrial(form, submissionOf);
  const refused = error ?? trial.error;
  const wrong = useMemo(() => ({ field: fieldOf(refused?.field), text: refused?.message ?? '' }), [refused]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const shape = Object.fromEntries(new FormData(event.currentTarget)) as unknown as Shape;
      const answer = await change<Submitted>('POST', '/v1/jobs', submissionOf(shape));
      refresh('jobs', 'queues');
      if (answer.warnings.length === 0) return go(`/jobs/${answer.id}`);
      setDone(answer);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
    setBusy(false);
  };
  if (done) return <Warned done={done} />;
  return (
    <form ref={form} className="submit-form" onSubmit={submit} onInput={() => (setError(undefined), look())}>
      <Wrong.Provider value={wrong}>
        <ScriptField again={again} />
        <Fields again={again} />
      </Wrong.Provider>
      <TrialPanel trial={trial} />
      <Trouble error={error} />
      {error?.field && <p className="faint">It is about the field {error.field}.</p>}
      <button type="submit" className="primary" disabled={busy}>
        Submit
      </button>
    </form>
  );
}

export default function SubmitPage() {
  const [search] = useSearchParams();
  const from = search.get('again');
  const again = useQuery<Job>(from ? `/v1/jobs/${encodeURIComponent(from)}` : null, []);
  return (
    <Page title="Submit a job" detail={from && <span className="faint">like job {from}</span>}>
      {from && !again.data && !again.error ? <Skeleton /> : <SubmitForm again={again.data} />}
    </Page>
  );
}
