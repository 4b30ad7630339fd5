// The pictures of the documentation (docs/images), taken of a cluster with some life in it. Only with
// DOVE_SCREENSHOTS=1.
import { mkdirSync } from 'node:fs';
import { call, submit, untilState } from './api.mjs';
import { newPage } from './chromium.mjs';

const folder = process.env.DOVE_IMAGES;

async function fill() {
  const { jobs } = await call('GET', '/v1/jobs?state=waiting,held,active&limit=1000');
  for (const job of jobs) await call('POST', `/v1/jobs/${job.id}/cancel`);
  const objects = [];
  for (const [node, rack] of [['node1', 'a1'], ['node2', 'a2']]) objects.push({ kind: 'Node', name: node, topology: [{ level: 'rack', name: rack }] });
  for (const name of ['ann', 'bo', 'cleo']) objects.push({ kind: 'User', name });
  objects.push({ kind: 'Queue', name: 'research', guaranteed: { gpus: 4 }, limits: { gpus: 8 } });
  objects.push({ kind: 'Queue', name: 'vision', parent: 'research', guaranteed: { gpus: 2 } }, { kind: 'Queue', name: 'language', parent: 'research', weight: 2 });
  await call('POST', '/v1/objects', { objects });
  const as = (user, job) => fetch(`${process.env.DOVE_URL}/v1/jobs`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${process.env.DOVE_ADMIN_TOKEN}`, 'Content-Type': 'application/json', 'X-Dove-User': user },
    body: JSON.stringify(job),
  }).then(async (answer) => {
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()).id;
  });
  const train = '#!/bin/bash\nfor epoch in $(seq 1 40); do echo "epoch $epoch/40: loss 0.$((999 - 20 * epoch)), accuracy 0.$((700 + 6 * epoch))"; done\nsleep 600\n';
  const first = await as('ann', { name: 'pretrain-7b', queue: 'language', script: train, gpus: 3, time_limit: '8h' });
  await as('bo', { name: 'segmentation', queue: 'vision', command: ['sleep', '600'], gpus: 2, time_limit: '2h' });
  await as('cleo', { name: 'notebook', queue: 'default', command: ['sleep', '600'], gpus: '0.5', time_limit: '1h' });
  await untilState(first, 'running');
  const waits = await as('ann', { name: 'pretrain-70b', queue: 'language', command: ['sleep', '600'], tasks: 2, gpus: 4, time_limit: '12h', priority: 10 });
  for (const [user, name] of [['bo', 'ablation'], ['cleo', 'evaluation'], ['bo', 'detection']]) await as(user, { name, queue: 'vision', command: ['sleep', '600'], gpus: 4, time_limit: '4h' });
  return { first, waits };
}

export async function screenshots(browser, signIn, visit) {
  mkdirSync(folder, { recursive: true });
  const { first, waits } = await fill();
  const light = await newPage(browser, { colorScheme: 'light' });
  const shoot = async (page, name) => {
    await page.mouse.move(1270, 790);
    await page.waitForLoadState('networkidle', { timeout: 1000 }).catch(() => {});
    await page.screenshot({ path: `${folder}/${name}.png` });
  };
  await signIn(light.page, '/', process.env.DOVE_ADMIN_TOKEN);
  await visit(light.page, '/');
  await light.page.getByRole('button', { name: 'Holder' }).click();
  await shoot(light.page, 'console-overview');
  await visit(light.page, `/jobs/${waits}`);
  await light.page.getByRole('region', { name: 'Why it waits' }).getByRole('listitem').first().waitFor();
  await shoot(light.page, 'console-why');
  const dark = await newPage(browser, { colorScheme: 'dark' });
  await signIn(dark.page, '/jobs', process.env.DOVE_ADMIN_TOKEN);
  await visit(dark.page, '/jobs?state=active,waiting');
  await shoot(dark.page, 'console-jobs');
  await visit(dark.page, `/jobs/${first}/logs`);
  await dark.page.getByRole('log').getByText('epoch 40').waitFor();
  await shoot(dark.page, 'console-logs');
}
