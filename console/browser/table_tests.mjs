// The tables of jobs and of notebooks, row by row, as a platform's overview has them; a part of suite.mjs.
import assert from 'node:assert/strict';
import { call, submit, untilState } from './api.mjs';
import { visit } from './person.mjs';

const HIGH = 100_000;
const MEDIUM = 10_000;
const TASK = { cores: 1, memory: '1Gi', gpus: 1 };
const LATER = Date.UTC(2100, 0, 1) * 1000;
const SLEEP = { command: ['sleep', '600'] };
// A program that these nodes lack, and what stands in for it.
const launched = (launcher, stands) => ({
  command: ['sh', '-c', `command -v no-${launcher} && exec ${launcher}; ${stands}`],
});
const WAITS = { ...SLEEP, begin_at_us: LATER };

// What is submitted, the state that it is left in, and its row from the name to the amounts; the oldest first.
const JOBS = [
  [
    {
      name: 'resnet50',
      ...launched('torchrun', 'sleep 600'),
      queue: 'train',
      priority: HIGH,
      project: 'vision',
      ...TASK,
    },
    'running',
    'PyTorch single',
    '1 GPU · 1 core · 1 GiB',
  ],
  [
    {
      name: 'bert-ddp',
      ...launched('torchrun', 'sleep 600'),
      tasks: 4,
      queue: 'train',
      priority: HIGH,
      project: 'nlp',
      ...TASK,
    },
    'running',
    'PyTorch distributed',
    '4 GPUs · 4 cores · 4 GiB',
  ],
  [
    {
      name: 'gpt2-ddp',
      ...WAITS,
      command: ['torchrun', 'train.py'],
      tasks: 8,
      queue: 'train',
      priority: MEDIUM,
      project: 'nlp',
      ...TASK,
    },
    'waiting',
    'PyTorch distributed',
    '8 GPUs · 8 cores · 8 GiB',
  ],
  [
    { name: 'yolo', command: ['true'], queue: 'train', priority: MEDIUM, project: 'vision', ...TASK },
    'completed',
    'Single task',
    '1 GPU · 1 core · 1 GiB',
  ],
  [
    {
      name: 'osu-allreduce',
      ...launched('mpirun', 'true'),
      tasks: 2,
      queue: 'hpc',
      priority: MEDIUM,
      project: 'fabric',
      cores: 2,
    },
    'completed',
    'MPI',
    '4 cores',
  ],
  [
    {
      name: 'cfd',
      ...launched('mpirun', 'false'),
      tasks: 2,
      queue: 'hpc',
      priority: MEDIUM,
      project: 'fabric',
      cores: 1,
    },
    'failed',
    'MPI',
    '2 cores',
  ],
  [
    {
      name: 'mnist-tf',
      command: ['true'],
      environment: { TF_CONFIG: '{}' },
      tasks: 2,
      queue: 'train',
      priority: MEDIUM,
      project: 'vision',
      ...TASK,
    },
    'completed',
    'TensorFlow distributed',
    '2 GPUs · 2 cores · 2 GiB',
  ],
  [
    {
      name: 'wide-deep-tf',
      ...WAITS,
      environment: { TF_CONFIG: '{}' },
      tasks: 4,
      queue: 'train',
      priority: HIGH,
      project: 'nlp',
      ...TASK,
    },
    'waiting',
    'TensorFlow distributed',
    '4 GPUs · 4 cores · 4 GiB',
  ],
  [
    { name: 'evaluate', script: '#!/bin/sh\nexit 3\n', queue: 'hpc', priority: MEDIUM, project: 'nlp', cores: 1 },
    'failed',
    'Batch script',
    '1 core',
  ],
];
const APP = { app: { name: 'notebook', socket: 'app', path: '/lab' } };
const NOTEBOOKS = [
  [
    { name: 'vision-lab', ...SLEEP, ...APP, queue: 'train', priority: HIGH, project: 'vision', ...TASK },
    'running',
    'none',
    '1 GPU · 1 core · 1 GiB',
  ],
  [
    {
      name: 'nlp-lab',
      ...SLEEP,
      ...APP,
      queue: 'train',
      priority: MEDIUM,
      project: 'nlp',
      cores: 2,
      hold: true,
      container: { image: 'pytorch-lab' },
    },
    'held',
    'pytorch-lab',
    '2 cores',
  ],
];

async function seed(entries) {
  const seeded = [];
  for (const [job, state, kind, resources] of entries) {
    const id = await submit(job);
    await untilState(id, state);
    const { submitted_at_us: at } = await call('GET', `/v1/jobs/${id}`);
    seeded.push({ id, job, state, kind, resources, created: new Date(at / 1000).toISOString() });
  }
  return seeded;
}

const word = (state) => (state === 'held' ? 'Stopped' : state.charAt(0).toUpperCase() + state.slice(1));

// {column: text}, of each row; of a time its instant.
async function shown(page, label) {
  const table = page.getByRole('group', { name: label }).locator('table');
  const titles = await table.getByRole('columnheader').allTextContents();
  return table.locator('tbody tr').evaluateAll(
    (rows, names) =>
      rows.map((row) =>
        Object.fromEntries(
          names.map((name, at) => {
            const cell = row.children[at];
            const time = name === 'Create time' ? cell.querySelector('time').dateTime : '';
            return [name, time || (cell.querySelector('a, [data-state]') ?? cell).textContent];
          }),
        ),
      ),
    titles,
  );
}

const only = (rows, names) => rows.filter((row) => names.includes(row.Name));

export async function tableTests({ test, page }) {
  const seeded = [];
  await test('the table of jobs has a row of each kind, with all that an overview says of it', async () => {
    for (const name of ['vision', 'nlp', 'fabric']) await call('PUT', `/v1/objects/project/${name}`, {});
    for (const name of ['train', 'hpc']) await call('PUT', `/v1/objects/queue/${name}`, {});
    const jobs = await seed(JOBS);
    seeded.push(...jobs);
    await visit(page, '/jobs');
    await page.getByRole('link', { name: 'evaluate' }).waitFor();
    assert.deepEqual(
      only(
        await shown(page, 'Jobs'),
        jobs.map(({ job }) => job.name),
      ),
      jobs
        .map(({ id, job, state, kind, resources, created }) => ({
          ID: String(id),
          Name: job.name,
          Type: kind,
          User: 'admin',
          Queue: job.queue,
          Priority: String(job.priority),
          Status: word(state),
          Project: job.project,
          Resources: resources,
          'Create time': created,
        }))
        .reverse(),
    );
  });

  await test('the table of notebooks has those that run, and those that are stopped', async () => {
    const notebooks = await seed(NOTEBOOKS);
    seeded.push(...notebooks);
    for (const { job, state, kind, resources, created } of notebooks) {
      await visit(page, state === 'held' ? '/sessions?state=stopped' : '/sessions');
      await page.getByRole('link', { name: job.name, exact: true }).waitFor();
      const names = notebooks.map((each) => each.job.name);
      assert.deepEqual(only(await shown(page, 'Sessions'), names), [
        {
          Name: job.name,
          Queue: job.queue,
          Image: kind,
          Project: job.project,
          Type: 'JupyterLab',
          Status: word(state),
          Priority: String(job.priority),
          Resources: resources,
          'Create time': created,
        },
      ]);
    }
    for (const { id, state } of seeded) {
      if (['running', 'waiting', 'held'].includes(state)) await call('POST', `/v1/jobs/${id}/cancel`);
    }
  });
}
