// The pictures of the documentation (docs/images), taken of a cluster of 12 nodes with some life in it.
// tests/e2e/console_test.py runs this with DOVE_SCREENSHOTS=1.
import { mkdirSync } from 'node:fs';
import { call, submit, untilState } from './api.mjs';
import { launch, newPage } from './chromium.mjs';
import { signIn, visit } from './person.mjs';

const folder = process.env.DOVE_IMAGES;
const token = process.env.DOVE_ADMIN_TOKEN;
const TRAIN = `#!/bin/bash
for epoch in $(seq 1 40); do echo "epoch $epoch/40: loss 0.$((999 - 20 * epoch)), accuracy 0.$((700 + 6 * epoch))"; done
sleep 600
`;

function declared() {
  const nodes = Array.from({ length: 12 }, (_, at) => ({
    kind: 'Node',
    name: `node${at + 1}`,
    topology: [{ level: 'rack', name: `rack ${1 + Math.floor(at / 4)}` }],
  }));
  const users = ['ann', 'bo', 'cleo', 'dan'].map((name) => ({ kind: 'User', name }));
  const queues = [
    { kind: 'Queue', name: 'research', guaranteed: { gpus: 48 }, limits: { gpus: 80 } },
    { kind: 'Queue', name: 'vision', parent: 'research', guaranteed: { gpus: 16 } },
    { kind: 'Queue', name: 'language', parent: 'research', weight: 2 },
  ];
  return [...nodes, ...users, ...queues];
}

const sleeps = { command: ['sleep', '600'] };

// Apps that answer, and one that waits.
async function openSessions(as) {
  const app = (user, name, kind, at, more) => {
    const port = 28_400 + at;
    const command = ['/usr/bin/python3', '-m', 'http.server', '--bind', '127.0.0.1', String(port)];
    return as(user, { name, command, app: { name: kind, port }, ...more });
  };
  const shared = await app('ann', 'paper-figures', 'notebook', 1, { gpus: '0.5', cores: 2 });
  await app('bo', 'detector', 'code', 2, { gpus: 1, queue: 'vision', priority: 100 });
  await app('cleo', 'losses', 'tensorboard', 3, { cores: 1 });
  await app('dan', 'big-notebook', 'notebook', 4, { gpus: 8, tasks: 3 });
  await call('POST', `/v1/jobs/${shared}/shares`, { users: ['bo', 'dan'] });
  await untilState(shared, 'running');
  await call('PUT', '/v1/objects/idle_rule/everybody', {
    users: ['ann'],
    no_input_for: '2s',
    grace: '1s',
    warning: '30m',
  });
}

async function fill() {
  await call('POST', '/v1/objects', { objects: declared() });
  const as = (user, job) => submit({ queue: 'default', time_limit: '4h', ...job }, token, user);
  const first = await as('ann', {
    name: 'pretrain-7b',
    queue: 'language',
    script: TRAIN,
    tasks: 4,
    gpus: 8,
    time_limit: '8h',
  });
  await untilState(first, 'running');
  await as('bo', { name: 'segmentation', queue: 'vision', ...sleeps, tasks: 2, gpus: 8, time_limit: '6h' });
  for (const name of ['detection', 'depth', 'tracking']) await as('bo', { name, queue: 'vision', ...sleeps, gpus: 4 });
  for (let at = 1; at <= 5; at++) await as('cleo', { name: `sweep-${at}`, ...sleeps, gpus: 2, time_limit: '1h' });
  await untilState(await as('dan', { name: 'notebook', ...sleeps, gpus: '0.5', time_limit: '2h' }), 'running');
  const waits = await as('ann', {
    name: 'pretrain-70b',
    queue: 'language',
    ...sleeps,
    tasks: 6,
    gpus: 8,
    time_limit: '12h',
    priority: 10,
  });
  for (const name of ['ablation', 'evaluation'])
    await as('bo', { name, queue: 'vision', ...sleeps, tasks: 4, gpus: 8 });
  await untilState(await as('cleo', { name: 'convert', command: ['true'] }), 'completed');
  await untilState(await as('dan', { name: 'smoke-test', command: ['false'] }), 'failed');
  await call('POST', '/v1/nodes/node12/drain', { reason: 'new fan' });
  await openSessions(as);
  return { first, waits };
}

async function shoot(page, name) {
  await page.mouse.move(1270, 790);
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
  await page.screenshot({ path: `${folder}/${name}.png` });
}

mkdirSync(folder, { recursive: true });
const { first, waits } = await fill();
const browser = await launch();
const light = (await newPage(browser, { colorScheme: 'light' })).page;
await signIn(light, '/', token);
await visit(light, '/');
await light.getByRole('button', { name: 'Holder' }).click();
await light.locator('.legend').getByText('cleo').waitFor();
await shoot(light, 'console-overview');
await visit(light, `/jobs/${waits}`);
await light.getByRole('region', { name: 'Why it waits' }).getByRole('listitem').first().waitFor();
await shoot(light, 'console-why');
await visit(light, '/sessions');
await light.getByRole('region', { name: 'paper-figures is idle' }).waitFor({ timeout: 40_000 });
await shoot(light, 'console-sessions');
const dark = (await newPage(browser, { colorScheme: 'dark' })).page;
await signIn(dark, '/jobs', token);
await visit(dark, '/jobs');
await shoot(dark, 'console-jobs');
await visit(dark, `/jobs/${first}/logs`);
await dark.getByRole('log').getByText('epoch 40').waitFor();
await shoot(dark, 'console-logs');
await browser.close();
