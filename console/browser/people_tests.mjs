// What people do with their sessions, on their own page, and with limits; a part of suite.mjs.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { call, submit, until, untilState } from './api.mjs';
import { findings, newPage } from './chromium.mjs';
import { heading, row, signIn, visit } from './person.mjs';

// The public half of a new RSA key, as OpenSSH writes it.
function rsaKey(bits, comment) {
  const { n, e } = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
  const part = (bytes) => Buffer.concat([Buffer.from(Uint32Array.of(bytes.length).buffer).swap32(), bytes]);
  const number = (text) => Buffer.concat([Buffer.from([0]), Buffer.from(text, 'base64url')]);
  const exponent = Buffer.from(e, 'base64url');
  return `ssh-rsa ${Buffer.concat([part(Buffer.from('ssh-rsa')), part(exponent), part(number(n))]).toString('base64')} ${comment}`;
}

// A page of somebody else, in a browser of their own.
async function as(browser, path, token) {
  const other = await newPage(browser);
  await signIn(other.page, path, token);
  return other;
}

export async function sessionTests({ test, page, browser }) {
  const columns = ['Name', 'Queue', 'Image', 'Project', 'Type', 'Status', 'Priority', 'Resources', 'Create time'];
  await test('sessions are listed with what they are and how they do', async () => {
    await visit(page, '/sessions');
    await row(page, 'Sessions', 'lab').waitFor();
    assert.deepEqual(await page.getByRole('columnheader').allTextContents(), columns);
    const cells = await row(page, 'Sessions', 'lab').getByRole('cell').allTextContents();
    assert.deepEqual(cells.slice(0, 8), ['lab', 'default', 'none', '–', 'JupyterLab', 'Running', '0', '1 core']);
  });

  await test('a session is shared by name, and entered by whom it is shared with', async () => {
    const bob = (await call('POST', '/v1/users/bob/token?create=1')).token;
    await page.getByRole('button', { name: 'Share lab' }).click();
    await page.getByLabel('User names').fill('bobby');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('alert').getByText('did you mean bob').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.getByLabel('User names').fill('bob');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('list', { name: 'Shared with' }).getByText('bob').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('shared with bob').waitFor();
    const other = await as(browser, '/sessions', bob);
    await other.page.getByText('of admin').waitFor();
    assert.equal(await other.page.getByRole('button', { name: /(Stop|Share|Keep) lab/ }).count(), 0);
    const opened = other.context.waitForEvent('page');
    await other.page.getByRole('link', { name: 'Open lab' }).click();
    const session = await opened;
    await session.locator('#seen').waitFor({ timeout: 30_000 });
    assert.equal(await session.locator('#seen').textContent(), '/lab [] bob');
    assert.deepEqual(other.wrong, []);
    await other.context.close();
  });

  await test('an idle session says when it ends, and is kept', async () => {
    const rule = { no_input_for: '5s', grace: '1s', warning: '10m' };
    await call('PUT', '/v1/objects/idle_rule/soon', rule);
    const warning = page.getByRole('region', { name: 'lab is idle' });
    await warning.waitFor({ timeout: 40_000 });
    assert.match(await warning.textContent(), /lab ends in (9 min \d+ s|10 min): nobody seems to use it/);
    assert.deepEqual(await findings(page), []);
    await warning.getByRole('button', { name: 'Keep it' }).click();
    await warning.waitFor({ state: 'detached' });
    await call('DELETE', '/v1/objects/idle_rule/soon');
  });

  await test('a session is found, shared and stopped by keys alone', async () => {
    await visit(page, '/');
    await page.locator('main').focus();
    await page.keyboard.type('gs');
    await heading(page, 'Sessions');
    await row(page, 'Sessions', 'lab').waitFor();
    const press = async (name) => {
      for (let left = 60; left > 0; left--) {
        await page.keyboard.press('Tab');
        if ((await page.evaluate(() => document.activeElement.textContent)) === name)
          return page.keyboard.press('Enter');
      }
      throw new Error(`Tab never comes to ${name}`);
    };
    await press('Share lab');
    await page.getByRole('dialog').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.name), 'users');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Share lab');
    await press('Stop lab');
    await press('Stop it');
    await row(page, 'Sessions', 'lab').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Stopped' }).click();
    await row(page, 'Sessions', 'lab').getByText('Stopped').waitFor();
  });

  await test('a stopped session is started again as itself, and ended', async () => {
    await page.getByRole('button', { name: 'Start lab' }).click();
    await row(page, 'Sessions', 'lab').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await row(page, 'Sessions', 'lab').locator('[data-state="running"]').waitFor({ timeout: 30_000 });
    await page.getByText('shared with bob').waitFor();
    await page.getByRole('button', { name: 'End lab' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    await row(page, 'Sessions', 'lab').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Stopped' }).click();
    await row(page, 'Sessions', 'lab').getByText('Cancelled').waitFor();
  });

  await test('a session is started by its name, with amounts and at a time, as the page says', async () => {
    const job = { command: ['sleep', '600'], app: { socket: 'app' }, cores: 2 };
    await call('PUT', '/v1/objects/app/board', { title: 'Our board', job });
    await visit(page, '/sessions');
    await page.getByRole('link', { name: 'Start a session' }).click();
    await heading(page, 'Start a session');
    for (const title of ['Our board', 'JupyterLab', 'TensorBoard'])
      await page.getByRole('radio', { name: title }).waitFor();
    await page.getByRole('radio', { name: 'JupyterLab' }).focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Start JupyterLab' }).waitFor();
    await page.getByRole('radio', { name: 'Our board' }).check();
    await page.getByRole('button', { name: 'Start Our board' }).waitFor();
    assert.equal(await page.getByLabel('Cores').inputValue(), '2');
    await page.getByLabel('Name', { exact: true }).fill('mine');
    await page.getByLabel('GPUs').fill('1');
    await page.getByLabel('Start at').fill('2099-11-23T10:00');
    const trial = page.getByRole('region', { name: 'If you start it now' });
    await trial.getByText('It waits:').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: 'Start Our board' }).click();
    await heading(page, 'mine');
    const id = Number(new URL(page.url()).pathname.split('/')[2]);
    const made = await call('GET', `/v1/jobs/${id}`);
    assert.deepEqual([made.exec.app.name, made.request.gpus_milli, made.request.cores], ['board', 1000, 2]);
    assert.match(made.begin_at, /^2099-11-2[234]T/);
    await call('POST', `/v1/jobs/${id}/cancel`);
    await call('DELETE', '/v1/objects/app/board');
  });
}

export async function ownPageTests({ test, browser, ann }) {
  await test('SSH keys are added and removed, and a weak one is refused with the reason', async () => {
    const { page, context, wrong } = await as(browser, '/you', ann);
    await page.getByText('There is no SSH key.').waitFor();
    const add = async (key) => {
      await page.getByRole('button', { name: 'Add an SSH key' }).click();
      await page.getByLabel('The line of the file').fill(key);
      await page.getByRole('button', { name: 'Add the key' }).click();
    };
    await add(rsaKey(1024, 'ann@old'));
    await page.getByRole('alert').getByText('weak_ssh_key').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: 'Back' }).click();
    await add(rsaKey(2048, 'ann@desk'));
    await page.getByRole('dialog', { name: 'The key is added' }).getByRole('status').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await row(page, 'SSH keys', 'ann@desk').waitFor();
    assert.equal((await call('GET', '/v1/users/ann/ssh-keys')).keys.length, 1);
    await page.getByRole('button', { name: 'Remove ann@desk' }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('There is no SSH key.').waitFor();
    assert.deepEqual(wrong, []);
    await context.close();
  });

  await test('a secret is kept, gets a new value and is removed, and its value is nowhere', async () => {
    const { page, context, wrong } = await as(browser, '/you', ann);
    await page.getByText('There is no secret.').waitFor();
    const keep = async (value) => {
      await page.getByLabel('Value', { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Keep the secret' }).click();
    };
    await page.getByRole('button', { name: 'Add a secret' }).click();
    await page.getByLabel('Name').fill('hub');
    assert.deepEqual(await findings(page), []);
    await keep('');
    await page.getByRole('alert').getByText('Type a value').waitFor();
    await keep('first-value');
    await row(page, 'Secrets', 'hub').waitFor();
    const first = (await call('GET', '/v1/secrets')).secrets.find((secret) => secret.user === 'ann');
    assert.equal(first.name, 'hub');
    await page.getByRole('button', { name: 'Set a new value of hub' }).click();
    await keep('second-value');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const second = (await call('GET', '/v1/secrets')).secrets.find((secret) => secret.user === 'ann');
    assert.ok(second.set_at_us > first.set_at_us);
    assert.ok(!(await page.content()).includes('-value'));
    await page.getByRole('button', { name: 'Remove hub' }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('There is no secret.').waitFor();
    assert.deepEqual(wrong, []);
    await context.close();
  });

  await test('somebody chooses where they hear of what, and sees what does not arrive', async () => {
    const { page, context, wrong } = await as(browser, '/you', ann);
    await page.getByRole('button', { name: 'Add a target' }).click();
    await page.getByLabel('How').selectOption('Webhook');
    await page.getByLabel('URL').fill('https://user:secret@example.org/');
    await page.getByRole('button', { name: 'Add it' }).click();
    await page.getByRole('alert').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.getByLabel('URL').fill('http://127.0.0.1:9/dove?key=secret'); // nobody listens there
    await page.getByLabel('it fails').check();
    await page.getByRole('button', { name: 'Add it' }).click();
    await row(page, 'Notices', 'http://127.0.0.1:9/***').waitFor();
    assert.ok(!(await page.content()).includes('key=secret'));
    await page.getByRole('button', { name: /^Test/ }).click();
    await page.getByRole('status').filter({ hasText: '(' }).waitFor();
    await untilState(await submit({ name: 'fails', command: ['false'] }, ann), 'failed');
    await row(page, 'Notices', 'to be tried again').waitFor();
    await page.locator('.trouble-text').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: /^Change/ }).click();
    assert.ok(await page.getByLabel('it fails').isChecked());
    await page.getByLabel('it fails').uncheck();
    await page.getByRole('button', { name: 'Change it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const [target] = (await call('GET', '/v1/users/ann/notices')).targets;
    assert.ok(!target.about.includes('job_failed') && target.about.includes('session_idle'));
    await page.getByRole('button', { name: /^Remove/ }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('Nobody writes to you.').waitFor();
    assert.deepEqual(wrong, []);
    await context.close();
  });
}

export async function roleTests({ test, page, ann }) {
  await test('a member is added to a project and taken out again: the binding is the membership', async () => {
    for (const object of ['user/bob', 'project/vision']) await call('PUT', `/v1/objects/${object}`, {});
    await call('PUT', '/v1/objects/binding/vision.members', { role: 'member', project: 'vision', users: ['bob'] });
    const tries = () =>
      call('POST', '/v1/jobs?dry_run=1', { name: 'in-vision', command: ['true'], project: 'vision' }, ann);
    await assert.rejects(tries(), /not_in_project/);
    await visit(page, '/people');
    await page.getByRole('button', { name: 'Give a role' }).click();
    await page.getByLabel('Project', { exact: true }).fill('vision');
    await page.getByLabel('Name', { exact: true }).fill('ann');
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: 'Give it' }).click();
    await row(page, 'Roles', 'ann ✕').waitFor();
    assert.deepEqual((await call('GET', '/v1/objects/binding/vision.members')).users.sort(), ['ann', 'bob']);
    await tries();
    await page.getByRole('button', { name: 'Take member of project vision from ann' }).click();
    await page.getByRole('button', { name: 'Take it back' }).click();
    await row(page, 'Roles', 'ann ✕').waitFor({ state: 'detached' });
    await assert.rejects(tries(), /not_in_project/);
  });
}

export async function auditTests({ test, page, browser, ann }) {
  await test('the audit says who did what, and what was refused to whom', async () => {
    await assert.rejects(call('GET', '/v1/events?audit=1', undefined, ann), /role_needed/);
    await until('the refusal', async () =>
      (await call('GET', '/v1/events?audit=1&kind=CallsRefused')).events.some(
        ({ data }) => data.operation === 'getEvents',
      ),
    );
    await visit(page, '/people');
    await page.getByRole('link', { name: 'Audit' }).click();
    await heading(page, 'Audit');
    await page.getByLabel('Kind').selectOption('Refused');
    await row(page, 'Audit', 'Refused: getEvents').first().waitFor();
    assert.match(await row(page, 'Audit', 'Refused: getEvents').first().textContent(), /ann127\.0\.0\.1.*role_needed/);
    await page.getByLabel('Kind').selectOption('Everything');
    await page.getByLabel('Filter by user').fill('ann');
    await page.keyboard.press('Enter');
    await page.waitForURL(/user=ann/);
    await row(page, 'Audit', 'Job submitted').first().waitFor();
    const seen = (await page.locator('tbody td:first-child').allTextContents()).map(Number);
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => b - a),
    );
    assert.deepEqual(await findings(page), []);
    await visit(page, '/audit');
    await page.getByRole('button', { name: 'Older' }).click();
    await page.waitForURL(/after=/);
    await page.getByRole('button', { name: 'Newest' }).waitFor();
    const other = await as(browser, '/audit', ann);
    await other.page.getByText('for auditors and administrators').waitFor();
    assert.deepEqual(other.wrong, []);
    await other.context.close();
  });
}

// What an administrator does with users and projects.
export async function peopleTests({ test, page }) {
  const fill = async (fields) => {
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
  };
  const press = (name) => page.getByRole('button', { name, exact: true }).click();

  await test('a user is declared, gets a token, is shut out and let in again', async () => {
    await visit(page, '/people');
    await press('New user');
    await fill({ Name: 'carla' });
    assert.deepEqual(await findings(page), []);
    await press('Declare the user');
    await row(page, 'Users', 'carla').getByText('no', { exact: true }).waitFor();
    await press('New token for carla');
    await press('Make the token');
    const token = (await page.locator('.secret').textContent()).trim();
    assert.deepEqual(await findings(page), []);
    await press('I have it');
    await row(page, 'Users', 'carla').getByText('yes', { exact: true }).waitFor();
    assert.equal((await call('GET', '/v1/me', undefined, token)).user, 'carla');
    await press('Disable carla');
    await press('Disable them');
    await row(page, 'Users', 'carla').getByText('Disabled').waitFor();
    await assert.rejects(call('GET', '/v1/me', undefined, token), /disabled/);
    await press('Let in carla');
    await press('Let them in');
    await row(page, 'Users', 'carla').getByText('Active').waitFor();
    assert.equal((await call('GET', '/v1/me', undefined, token)).user, 'carla');
    await call('DELETE', '/v1/objects/user/carla');
  });

  await test('a project is declared, limited, and taken back', async () => {
    await visit(page, '/people');
    await press('New project');
    await fill({ Name: 'retina' });
    await press('Declare the project');
    await row(page, 'Projects', 'retina').waitFor();
    await visit(page, '/usage');
    await press('Change the limits of project retina');
    await fill({ 'GPU hours a month': '500' });
    assert.deepEqual(await findings(page), []);
    await press('Set them');
    await row(page, 'Limits of projects', 'retina').getByText('500').waitFor();
    assert.equal((await call('GET', '/v1/objects/project/retina')).limits.gpu_ms_month, 500 * 3_600_000);
    await visit(page, '/people');
    await press('Take back the project retina');
    await press('Take it back');
    await row(page, 'Projects', 'retina').waitFor({ state: 'detached' });
  });
}

export async function limitTests({ test, page, ann }) {
  await test('an administrator raises a limit, and the job that waited for it starts', async () => {
    await visit(page, '/usage');
    await page.getByRole('button', { name: 'Limit a user' }).click();
    await page.getByLabel('User, or *').fill('ann');
    await page.getByLabel('GPUs at once').fill('1');
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: 'Set them' }).click();
    await row(page, 'Limits of users', 'ann').waitFor();
    const sleeps = { command: ['sleep', '600'], gpus: 1 };
    const first = await submit({ ...sleeps, name: 'within' }, ann);
    await untilState(first, 'running');
    const second = await submit({ ...sleeps, name: 'beyond' }, ann);
    await visit(page, `/jobs/${second}`);
    await page.getByRole('region', { name: 'Why it waits' }).getByText('User limit').waitFor();
    await visit(page, '/usage');
    await page.getByRole('button', { name: 'Change the limits of ann' }).click();
    await page.getByLabel('GPUs at once').fill('2');
    await page.getByRole('button', { name: 'Set them' }).click();
    await untilState(second, 'running');
    await visit(page, `/jobs/${second}`);
    await page.locator('.page-head [data-state="running"]').waitFor();
    for (const job of [first, second]) await call('POST', `/v1/jobs/${job}/cancel`);
    await call('DELETE', '/v1/objects/limit/ann');
  });

  await test('the form says what would become of it, and submits nothing', async () => {
    const before = (await call('GET', '/v1/jobs?order=newest&limit=1')).jobs[0].id;
    await visit(page, '/submit');
    const trial = page.getByRole('region', { name: 'If you submit it now' });
    await trial.getByText('It starts at once.').waitFor();
    await page.getByLabel('Time limit').fill('never');
    await page.locator('#time_limit[aria-invalid="true"]').waitFor();
    assert.ok((await page.locator('#time_limit-wrong').textContent()).length > 10);
    assert.deepEqual(await findings(page), []);
    await page.getByLabel('Time limit').fill('2h');
    await trial.getByText('It starts at once.').waitFor();
    await page.getByLabel('Tasks').fill('9');
    await page.getByLabel('GPUs per task').fill('1');
    await until('reasons', async () => /9|8/.test((await trial.textContent()) ?? ''));
    assert.equal((await call('GET', '/v1/jobs?order=newest&limit=1')).jobs[0].id, before);
  });

  await test('the tree of queues shows what each has held', async () => {
    await untilState(await submit({ name: 'holds-one', command: ['true'], gpus: 1 }), 'completed');
    await visit(page, '/queues');
    await page.getByRole('img', { name: /GPUs held by queue over the last .*default/ }).waitFor();
  });
}
