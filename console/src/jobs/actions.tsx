// What may be done to a job. Each asks first, and shows the server's own words when it is refused.
import { useState } from 'react';
import { Link } from 'wouter';
import { change } from '../api/http';
import { refresh } from '../api/query';
import type { Job } from '../api/types';
import { Confirm } from '../elements/dialog';
import { mayAct } from '../session/may';
import { useSession } from '../session/session';
import { referenceOf } from './filters';

interface Action {
  name: string;
  verb: string;
  says: string;
  danger?: boolean;
  path: string;
  when: (job: Job) => boolean;
}

const ACTIONS: Action[] = [
  {
    name: 'Hold',
    verb: 'Hold it',
    says: 'It does not start until it is released.',
    path: 'hold',
    when: (job) => job.phase === 'waiting' && !job.held,
  },
  {
    name: 'Release',
    verb: 'Release it',
    says: 'It may start again.',
    path: 'release',
    when: (job) => job.held === true && job.phase !== 'ended',
  },
  {
    name: 'Requeue',
    verb: 'Requeue it',
    says: 'Its attempt is ended and it runs again from its start.',
    danger: true,
    path: 'requeue',
    when: (job) => job.phase === 'active',
  },
  {
    name: 'Priority',
    verb: 'Change it',
    says: 'Only administrators may raise it.',
    path: 'priority',
    when: (job) => job.phase !== 'ended',
  },
  {
    name: 'Cancel',
    verb: 'Cancel the job',
    says: 'Its tasks get SIGTERM, some time to end, and then SIGKILL.',
    danger: true,
    path: 'cancel',
    when: (job) => job.phase !== 'ended',
  },
];

export function JobActions({ job }: { job: Job }) {
  const { me } = useSession();
  const [chosen, choose] = useState<Action>();
  if (!mayAct(me, job)) return null;
  const act = async (form: FormData) => {
    const body = chosen!.path === 'priority' ? { priority: Number(form.get('priority')) } : undefined;
    await change('POST', `/v1/jobs/${referenceOf(job)}/${chosen!.path}`, body);
    refresh('jobs', `job:${job.id}`);
  };
  return (
    <>
      {ACTIONS.filter((action) => action.when(job)).map((action) => (
        <button key={action.name} className={action.path === 'cancel' ? 'danger' : ''} onClick={() => choose(action)}>
          {action.name}
        </button>
      ))}
      {job.phase === 'ended' && (
        <Link href={`/submit?again=${job.id}`} className="button">
          Submit again
        </Link>
      )}
      {chosen && (
        <Confirm
          title={`${chosen.name} job ${referenceOf(job)} (${job.name})`}
          verb={chosen.verb}
          danger={chosen.danger}
          act={act}
          onClose={() => choose(undefined)}
        >
          <p>{chosen.says}</p>
          {chosen.path === 'priority' && (
            <label>
              Priority
              <input
                name="priority"
                type="number"
                defaultValue={job.priority}
                min={-1000000000}
                max={1000000000}
                required
              />
            </label>
          )}
        </Confirm>
      )}
    </>
  );
}
