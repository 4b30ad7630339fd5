// Stopping a session and starting it again, as `dove stop`, `dove start` and `dove restart` do.
import { change } from '../api/http';
import { refresh } from '../api/query';
import type { JobSummary } from '../api/types';
import { referenceOf } from '../jobs/filters';

type Named = Pick<JobSummary, 'id' | 'array' | 'phase'>;

async function ask(job: Named, ...calls: [string, unknown][]) {
  for (const [what, body] of calls) await change('POST', `/v1/jobs/${referenceOf(job)}/${what}`, body);
  refresh('jobs', `job:${job.id}`);
}

export const stopSession = (job: Named) => ask(job, ['requeue', { hold: true }]);
export const endSession = (job: Named) => ask(job, ['cancel', undefined]);
export const restartSession = (job: Named) => ask(job, ['requeue', {}]);
export const startSession = (job: Named) =>
  job.phase === 'ended' ? ask(job, ['requeue', {}], ['release', undefined]) : ask(job, ['release', undefined]);
