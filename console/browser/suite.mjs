// The console in a real browser against a real cluster (tests/e2e/console_test.py starts it and says
// where it is). Prints a line for each test and ends with a line of counts.
import assert from 'node:assert/strict';
import { call, submit, until, untilState } from './api.mjs';
import { findings, launch, newPage } from './chromium.mjs';
import { keyboardTests } from './keyboard_tests.mjs';
import { levelTests } from './level_tests.mjs';
import { auditTests, limitTests, ownPageTests, peopleTests, roleTests, sessionTests } from './people_tests.mjs';
import { heading, signIn, visit } from './person.mjs';
import { pictureTests } from './picture_tests.mjs';
import { tableTests } from './table_tests.mjs';

const url = process.env.DOVE_URL;
const admin = process.env.DOVE_ADMIN_TOKEN;
const ann = process.env.DOVE_ANN_TOKEN;
const PAGES = [
  '/',
  '/jobs',
  '/sessions',
  '/sessions/start',
  '/submit',
  '/nodes',
  '/nodes/node1',
  '/queues',
  '/plan',
  '/usage',
  '/people',
  '/audit',
  '/you',
];

let passed = 0;
const failed = [];

// DOVE_ONLY: a pattern of those to run, for whoever works on one of them.
const only = new RegExp(process.env.DOVE_ONLY ?? '');

async function test(name, body) {
  if (!only.test(name)) return;
  const began = performance.now();
  try {
    await body();
    passed += 1;
    console.log(`ok      ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed.push(name);
    console.log(`FAILED  ${name}\n${error.stack ?? error}`);
    for (const request of person.open) console.log(`not answered: ${request.method()} ${request.url()}`);
    console.log(`at ${page.url()}: ${(await page.locator('main').innerText()).slice(0, 800)}`);
  }
}

const state = (page, word) => page.locator(`.page-head [data-state="${word}"]`).waitFor();

const browser = await launch();
const person = await newPage(browser);
const { page } = person;

await test('a wrong token is refused in the words of the server', async () => {
  await page.goto(`${url}/jobs?state=ended`);
  await page.getByLabel('Token or key').fill('not-a-token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  assert.ok((await page.getByRole('alert').textContent()).length > 20);
});

await test('a deep link is followed after signing in, and no script sees the token', async () => {
  await signIn(page, '/jobs?state=ended', admin);
  await heading(page, 'Jobs');
  assert.equal(new URL(page.url()).search, '?state=ended');
  const kept = await page.evaluate(
    () => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie,
  );
  assert.ok(!kept.includes(admin) && !kept.includes('__Host-dove'), kept);
});

await test('the link of dove console signs in, once, and leaves the address', async () => {
  const { code } = await call('POST', '/v1/sign-in-codes', {});
  const other = await newPage(browser);
  await other.page.goto(`${url}/nodes#code=${code}`);
  await heading(other.page, 'Nodes');
  assert.equal(new URL(other.page.url()).hash, '');
  await other.context.clearCookies();
  await other.page.goto(`${url}/queues#code=${code}`);
  await other.page.getByLabel('Token or key').waitFor();
  await other.context.close();
});

// oidc-provider, with its own page and cookies.
await test('somebody signs in with the service of their organisation, and gets where they wanted', async () => {
  const other = await newPage(browser);
  await other.page.goto(`${url}/jobs?state=ended`);
  const link = other.page.getByRole('link', { name: 'Sign in with Example Corp' });
  await link.waitFor();
  assert.deepEqual(await findings(other.page), []);
  await link.click();
  await other.page.getByLabel('Account').fill('grace');
  await other.page.getByRole('button', { name: 'Log in' }).click();
  await heading(other.page, 'Jobs');
  assert.equal(new URL(other.page.url()).search, '?state=ended');
  await other.page.getByText('grace').first().waitFor();
  const grace = await call('GET', '/v1/objects/user/grace');
  assert.match(grace.identity, / a-grace$/);
  assert.deepEqual((await call('GET', '/v1/objects/group/corp.ml')).users, ['grace']);
  await other.context.close();
});

await test('a program is let in by somebody who is signed in', async () => {
  const asks = await call('POST', '/v1/device-sign-ins', { name: 'dove on laptop' });
  await visit(page, asks.path);
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByText(asks.user_code).waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'Let it in' }).click();
  await page.getByText('dove on laptop is signed in as').waitFor();
  const key = await call('POST', '/v1/device-sign-ins/wait', { device_code: asks.device_code });
  assert.equal((await call('GET', '/v1/me', undefined, key.key)).key.name, 'dove on laptop');
});

let job;
await test('a job is submitted, and its log followed while it runs', async () => {
  await visit(page, '/submit');
  await page.getByLabel('Name', { exact: true }).fill('hello');
  await page
    .getByLabel('Script')
    .fill('#!/bin/bash\necho first line\nuntil [ -e go ]; do sleep 0.1; done\necho last line\nsleep 600\n');
  await page.getByRole('button', { name: 'Submit' }).click();
  await heading(page, 'hello');
  job = Number(new URL(page.url()).pathname.split('/')[2]);
  await state(page, 'running');
  await page.getByRole('tab', { name: 'Logs' }).click();
  await page.getByRole('log').getByText('first line').waitFor();
  assert.ok(!(await page.getByRole('log').textContent()).includes('last line'));
});

await test('a terminal opens in its task', async () => {
  await page.getByRole('tab', { name: 'Terminal' }).click();
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await page.getByText('It runs.').waitFor();
  await page.keyboard.type('touch go; echo $((6*7))-in-the-task; tput cols\n');
  await page.locator('.terminal').getByText('42-in-the-task').first().waitFor();
  await page.keyboard.type('exit 3\n');
  await page.getByText('It ended with exit code 3.').waitFor();
  await page.getByRole('tab', { name: 'Logs' }).click();
  await page.getByRole('log').getByText('last line').waitFor();
});

// The session's page is of another origin, which gets neither the console's cookie nor anything of its page.
await test('a session is opened from its job, and knows nothing of the console', async () => {
  const program =
    'import http.server,sys\n' +
    'class H(http.server.BaseHTTPRequestHandler):\n' +
    ' def do_GET(self):\n' +
    '  b=("<title>lab</title><p id=seen>"+self.path+" ["+(self.headers["Cookie"] or "")+"] "+' +
    'self.headers["X-Forwarded-User"]+"</p>").encode()\n' +
    '  self.send_response(200);self.send_header("Content-Type","text/html")\n' +
    '  self.send_header("Content-Length",str(len(b)));self.end_headers();self.wfile.write(b)\n' +
    'http.server.HTTPServer(("127.0.0.1",int(sys.argv[1])),H).serve_forever()\n';
  const port = 20000 + Math.floor(Math.random() * 20000);
  const lab = await submit({
    name: 'lab',
    hold: true,
    command: ['/usr/bin/python3', '-c', program, String(port)],
    app: { name: 'notebook', port, path: '/lab' },
  });
  await visit(page, `/jobs/${lab}`);
  const opened = page.context().waitForEvent('page');
  await page.getByRole('link', { name: 'Open', exact: true }).click();
  const session = await opened;
  session.setDefaultTimeout(30_000);
  await session.getByText(`Job ${lab} is held`).waitFor();
  assert.deepEqual(await findings(session), []);
  await call('POST', `/v1/jobs/${lab}/release`);
  await session.locator('#seen').waitFor();
  assert.equal(await session.locator('#seen').textContent(), '/lab [] admin');
  assert.notEqual(new URL(session.url()).origin, url);
  assert.equal(await session.evaluate(() => document.cookie), '');
  const refused = await session.evaluate(
    (console_) => fetch(`${console_}/v1/me`, { credentials: 'include' }).then(String, String),
    url,
  );
  assert.match(refused, /Failed to fetch/);
  await session.close();
});

await sessionTests({ test, page, browser });
await tableTests({ test, page });
await ownPageTests({ test, browser, ann });
await peopleTests({ test, page });
await limitTests({ test, page, ann });
await roleTests({ test, page, ann });
await levelTests({ test, page, browser });
await auditTests({ test, page, browser, ann });
await keyboardTests({ test, page, browser });
await pictureTests({ test, page, browser, admin, pages: PAGES });

await test('a job that waits says why, with numbers, and an order of its own', async () => {
  const blocked = await submit({ name: 'wide', command: ['true'], tasks: 2, gpus: 4, features: ['warp'] });
  await visit(page, `/jobs/${blocked}`);
  await page.getByRole('region', { name: 'Why it waits' }).getByRole('listitem').first().waitFor();
  const { reasons } = await call('GET', `/v1/jobs/${blocked}/why`);
  assert.ok(reasons.length > 0);
  for (const reason of reasons) await page.getByText(reason.text).first().waitFor();
  await page.getByRole('button', { name: 'Hold' }).click();
  await page.getByRole('button', { name: 'Hold it' }).click();
  await state(page, 'held');
  await page.getByRole('button', { name: 'Release' }).click();
  await page.getByRole('button', { name: 'Release it' }).click();
  await state(page, 'waiting');
  await page.getByRole('button', { name: 'Priority' }).click();
  await page.getByLabel('Priority', { exact: true }).fill('7');
  await page.getByRole('button', { name: 'Change it' }).click();
  await until('the priority', async () => (await call('GET', `/v1/jobs/${blocked}`)).priority === 7);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  await state(page, 'cancelled');
});

await test('a job says how far it is', async () => {
  const script = '#!/bin/sh\necho "step=7000 seconds=0.5 loss=0.25 phase=train" >$DOVE_PROGRESS\nsleep 120\n';
  const job = await submit({ name: 'steps', script, cores: 1 });
  await until('its progress', async () => (await call('GET', `/v1/jobs/${job}`)).progress?.step === 7000);
  await visit(page, `/jobs/${job}`);
  const progress = page.getByRole('region', { name: 'Progress' });
  for (const text of ['7,000', '500 ms', '0.25', 'train']) await progress.getByText(text).first().waitFor();
  await page.getByRole('region', { name: /^Use/ }).waitFor();
  await page.getByRole('img', { name: /in percent; now CPU/ }).waitFor({ timeout: 40_000 });
  await call('POST', `/v1/jobs/${job}/cancel`);
  await page.getByRole('img', { name: /in percent; at last CPU/ }).waitFor();
  await page.getByText('% of what it held').waitFor();
});

await test('an ended job is submitted again, with what it asked for', async () => {
  const once = await submit({
    name: 'once',
    script: '#!/bin/bash\necho again\n',
    gpus: 2,
    time_limit: '2h',
  });
  await untilState(once, 'completed');
  await visit(page, `/jobs/${once}`);
  await page.getByRole('link', { name: 'Submit again' }).click();
  await page.getByLabel('GPUs per task').waitFor();
  assert.equal(await page.getByLabel('GPUs per task').inputValue(), '2');
  await page.getByLabel('Time limit').fill('never');
  await page.getByRole('button', { name: 'Submit' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Time limit').fill('0-02:00:00');
  await page.getByRole('button', { name: 'Submit' }).click();
  await heading(page, 'once');
  const id = Number(new URL(page.url()).pathname.split('/')[2]);
  const [before, after] = await Promise.all([once, id].map((one) => call('GET', `/v1/jobs/${one}`)));
  assert.ok(after.id > before.id);
  assert.deepEqual([after.request, after.time_limit_s], [before.request, before.time_limit_s]);
});

await test('the list is live, filtered by the server, and a page at a time', async () => {
  await visit(page, '/jobs');
  const id = await submit({ name: 'appears-by-itself', command: ['true'] });
  await page.getByRole('link', { name: 'appears-by-itself' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'appears-by-itself' }).locator('[data-state="completed"]').waitFor();
  await page.getByLabel('Filter by text or id').fill('BY-ITSELF');
  await page.waitForURL(/text=BY-ITSELF/);
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  await page.getByLabel('Filter by text or id').fill(String(id));
  await page.waitForURL(new RegExp(`text=${id}`));
  await page.getByRole('link', { name: 'appears-by-itself' }).waitFor();
  await page.getByLabel('Filter by text or id').fill('nobody-has-this-name');
  await page.getByText('No job is like that.').waitFor();
  await page.getByRole('button', { name: 'Show all jobs' }).click();
  for (let left = 55; left > 0; left--) await submit({ name: `many-${left}`, command: ['true'], hold: true });
  await page.getByRole('button', { name: 'Older' }).click();
  await page.getByRole('link', { name: 'hello' }).waitFor();
  const columns = await page.getByRole('columnheader').allTextContents();
  for (const name of ['Name', 'Type', 'Queue', 'Priority', 'Status', 'Project', 'Resources', 'Create time'])
    assert.ok(columns.includes(name), name);
});

await test('the heat-map shows every GPU, by pointer and by keys', async () => {
  const holding = await submit({ name: 'holds', command: ['sleep', '600'], gpus: 2 });
  await untilState(holding, 'running');
  await visit(page, '/');
  const map = page.getByRole('application');
  await map.waitFor();
  assert.match(await map.getAttribute('aria-label'), /^8 GPUs/);
  await page.getByRole('button', { name: 'Holder' }).click();
  await map.focus();
  await page.keyboard.press('ArrowRight');
  await until(
    'the holder',
    async () =>
      /job \d+ holds/.test(await page.locator('.heat-tip').textContent()) || (await page.keyboard.press('ArrowRight')),
  );
  await page.keyboard.press('Enter');
  await heading(page, 'holds');
  await call('POST', `/v1/jobs/${holding}/cancel`);
});

await test('a node is drained, with a reason, and taken back', async () => {
  await visit(page, '/nodes/node2');
  await page.getByRole('button', { name: 'Drain' }).click();
  await page.getByLabel('Reason').fill('new fan');
  await page.getByRole('button', { name: 'Drain it' }).click();
  await page.locator('.page-head').locator('[data-state="draining"], [data-state="drained"]').waitFor();
  await page.getByText('new fan').waitFor();
  await page.getByRole('button', { name: 'Undrain' }).click();
  await page.getByRole('button', { name: 'Undrain it' }).click();
  await state(page, 'ready');
});

await test('a key is shown once, and revoked', async () => {
  await visit(page, '/people');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('What it is for').fill('nightly');
  await page.getByLabel('User', { exact: true }).fill('ann');
  await page.getByRole('button', { name: 'Make the key' }).click();
  const key = (await page.locator('.secret').textContent()).trim();
  assert.equal((await call('GET', '/v1/jobs?limit=1', undefined, key)).jobs.length, 1);
  await page.getByRole('button', { name: 'I have it' }).click();
  assert.ok(!(await page.content()).includes(key));
  await page.getByRole('button', { name: 'Revoke nightly' }).click();
  await page.getByRole('button', { name: 'Revoke it' }).click();
  await page.getByRole('button', { name: 'Revoke nightly' }).waitFor({ state: 'detached' });
  await assert.rejects(call('GET', '/v1/jobs?limit=1', undefined, key));
});

await test('everything is reached by keys alone', async () => {
  await page.goto(`${url}/`);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.type('gj');
  await heading(page, 'Jobs');
  await page.keyboard.press('/');
  await page.keyboard.type('hello');
  await page.getByRole('link', { name: 'hello' }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  await page.getByRole('link', { name: 'hello' }).focus();
  await page.keyboard.press('Enter');
  await heading(page, 'hello');
  await page.getByRole('button', { name: 'Cancel' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
  await page.keyboard.type('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

await test('whoever has a limit sees what is used of it', async () => {
  await call('PUT', '/v1/objects/limit/admin', { limits: { gpus: 3 } });
  await visit(page, '/usage');
  const row = page.getByRole('group', { name: 'Your limits' }).getByRole('row').filter({ hasText: 'GPUs' });
  await row.waitFor();
  assert.match(await row.textContent(), /User admin.*3/);
  await call('DELETE', '/v1/objects/limit/admin');
});

for (const mode of ['Light', 'Dark']) {
  await test(`axe finds nothing on any page, ${mode.toLowerCase()}`, async () => {
    await page.locator('.user-menu summary').click();
    await page.getByRole('button', { name: mode, exact: true }).click();
    await page.locator('.user-menu summary').click();
    const found = [];
    for (const path of [...PAGES, `/jobs/${job}`, `/jobs/${job}/logs`, `/jobs/${job}/terminal`, '/no/such/page']) {
      await visit(page, path);
      found.push(...(await findings(page)).map((line) => `${path}: ${line}`));
    }
    await page.keyboard.type('?');
    await page.getByRole('dialog').waitFor();
    found.push(...(await findings(page)).map((line) => `keys: ${line}`));
    await page.keyboard.press('Escape');
    await visit(page, '/people');
    await page.getByRole('button', { name: 'New key' }).click();
    found.push(...(await findings(page)).map((line) => `a new key: ${line}`));
    await page.keyboard.press('Escape');
    assert.deepEqual(found, []);
  });
}

await test('the chosen mode is there before the first paint', async () => {
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.mode), 'dark');
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
});

await test('a phone shows every page without scrolling sideways', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of [...PAGES, `/jobs/${job}`]) {
    await visit(page, path);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${path} is ${width} wide`);
  }
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Queues' }).click();
  await heading(page, 'Queues');
  await page.setViewportSize({ width: 1280, height: 800 });
});

await test('signing out ends the session', async () => {
  await page.locator('.user-menu summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token or key').waitFor();
  assert.deepEqual(await findings(page), []);
  assert.equal(await page.evaluate(async () => (await fetch('/v1/jobs')).status), 401);
});

await test('a user sees no action on what is not theirs', async () => {
  await signIn(page, `/jobs/${job}`, ann);
  await heading(page, 'hello');
  assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
  await visit(page, '/nodes/node1');
  assert.equal(await page.getByRole('button', { name: 'Drain' }).count(), 0);
});

await test('no page broke its policy, threw, or fetched from elsewhere', async () => {
  assert.deepEqual(person.wrong, []);
});

await browser.close();
console.log(`${passed} passed, ${failed.length} failed, 0 skipped`);
process.exit(failed.length > 0 ? 1 : 0);
