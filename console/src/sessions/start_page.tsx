// Starting a session: which app, and what it gets; the server says what would become of it.
import { useRef, useState, type FormEvent } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { ApiError, change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { QueueInUse, StartableApp, Submitted } from '../api/types';
import { Empty, Page, Panel, Skeleton, Trouble } from '../elements/elements';
import { TrialPanel, useTrial } from '../jobs/trial_panel';
import { startOf, type Wanted } from './start';

function Field({
  name,
  label,
  hint,
  ...input
}: { name: keyof Wanted; label: string; hint?: string } & React.InputHTMLAttributes<HTMLInputElement>) {
  return (
    <div className="field">
      <label htmlFor={name}>{label}</label>
      <input id={name} name={name} maxLength={1024} aria-describedby={hint ? `${name}-hint` : undefined} {...input} />
      {hint && (
        <span id={`${name}-hint`} className="faint">
          {hint}
        </span>
      )}
    </div>
  );
}

function openTo(app: StartableApp): string {
  if (app.built_in) return 'built in';
  if (app.project) return `of project ${app.project}`;
  return app.domain ? `of domain ${app.domain}` : 'of this site';
}

function Apps({ apps, chosen, choose }: { apps: StartableApp[]; chosen: string; choose: (name: string) => void }) {
  return (
    <fieldset className="apps">
      <legend>App</legend>
      {apps.map((app) => (
        <label key={app.name} className="app-choice">
          <input type="radio" name="app" checked={app.name === chosen} onChange={() => choose(app.name)} />
          <span className="strong">{app.title || app.name}</span>
          <span className="faint">
            {app.name}, {openTo(app)}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

// What the app declares is what a field says before somebody types.
function declared(app: StartableApp, field: string): string | undefined {
  const value = (app.job as Record<string, unknown>)[field];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function Fields({ app }: { app: StartableApp }) {
  const queues = useQuery<{ queues: QueueInUse[] }>('/v1/queues', ['queues'], 'queues');
  return (
    <div className="fields">
      <Field name="name" label="Name" required defaultValue={declared(app, 'name') ?? app.name} />
      {app.operand && (
        <Field
          name="operand"
          label={app.operand_needed ? 'Log directory' : 'Directory'}
          required={app.operand_needed}
          hint="as the session sees it"
        />
      )}
      <Field
        name="gpus"
        label="GPUs"
        hint="0.5 is half of one"
        inputMode="decimal"
        pattern="[0-9.]*"
        defaultValue={declared(app, 'gpus')}
      />
      <Field name="cores" label="Cores" type="number" min={1} defaultValue={declared(app, 'cores') ?? 1} />
      <Field name="memory" label="Memory" hint="such as 16Gi" defaultValue={declared(app, 'memory')} />
      <Field name="time_limit" label="Time limit" hint="such as 8h" defaultValue={declared(app, 'time_limit')} />
      <div className="field">
        <label htmlFor="queue">Queue</label>
        <select
          id="queue"
          name="queue"
          key={queues.data ? 'known' : ''}
          defaultValue={declared(app, 'queue') ?? 'default'}
        >
          {(queues.data?.queues ?? [{ name: 'default' }]).map((queue) => (
            <option key={queue.name as string}>{queue.name as string}</option>
          ))}
        </select>
      </div>
      <Field name="begin" label="Start at" type="datetime-local" hint="not before; left out, now" />
      <Field
        name="folder"
        label="Folder"
        pattern="/.*"
        hint="of the nodes, such as /home/ann: it begins there, and what is there stays"
      />
      <Field name="image" label="Image" hint="left out: the node’s own programs" />
      <Field name="project" label="Project" defaultValue={declared(app, 'project')} />
      {app.built_in && <Field name="program" label="Program" hint="its file, where it is not in PATH" />}
    </div>
  );
}

function StartForm({ app }: { app: StartableApp }) {
  const [, go] = useLocation();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { trial, look } = useTrial(form, (typed: Partial<Wanted>) => startOf(app, typed));
  const start = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const typed = Object.fromEntries(new FormData(event.currentTarget)) as Partial<Wanted>;
      const answer = await change<Submitted>('POST', '/v1/jobs', startOf(app, typed));
      refresh('jobs', 'queues');
      return go(`/jobs/${answer.id}`);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
    setBusy(false);
  };
  return (
    <form ref={form} className="submit-form" onSubmit={start} onInput={() => (setError(undefined), look())}>
      <Fields app={app} />
      {app.remedy && <p className="faint">Where its program is missing: {app.remedy}.</p>}
      <TrialPanel trial={trial} title="If you start it now" />
      <Trouble error={error} />
      <button type="submit" className="primary" disabled={busy}>
        Start {app.title || app.name}
      </button>
    </form>
  );
}

export default function StartPage() {
  const [search, setSearch] = useSearchParams();
  const { data, error } = useQuery<{ apps: StartableApp[] }>('/v1/apps', ['objects']);
  const named = (wanted: string | null) => data?.apps.find(({ name }) => name === wanted);
  const app = named(search.get('app')) ?? named('notebook') ?? data?.apps[0];
  return (
    <Page title="Start a session" detail={<Link href="/sessions">All sessions</Link>}>
      <Trouble error={error} />
      {!data && !error && <Skeleton />}
      {data && !app && <Empty title="There is no app that you may start." />}
      {data && app && (
        <>
          <Panel title="What it is">
            <Apps apps={data.apps} chosen={app.name} choose={(name) => setSearch({ app: name }, { replace: true })} />
          </Panel>
          <StartForm key={app.name} app={app} />
        </>
      )}
    </Page>
  );
}
