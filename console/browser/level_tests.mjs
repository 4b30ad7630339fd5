// What roles below the cluster let people do in the console, and groups and domains; a part of suite.mjs.
import assert from 'node:assert/strict';
import { call } from './api.mjs';
import { findings, newPage } from './chromium.mjs';
import { row, signIn, visit } from './person.mjs';

async function fill(page, fields) {
  for (const [label, text] of Object.entries(fields))
    await page.getByRole('dialog').getByRole('textbox', { name: label, exact: true }).fill(text);
}

const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

async function as(browser, user, path) {
  const { token } = await call('POST', `/v1/users/${user}/token?create=1`);
  const other = await newPage(browser);
  await signIn(other.page, path, token);
  return other;
}

export async function levelTests({ test, page, browser }) {
  await test('a domain and a group are declared, and warnings are shown', async () => {
    await visit(page, '/people');
    await press(page, 'New domain');
    await fill(page, { Name: 'corp', Title: 'The company' });
    assert.deepEqual(await findings(page), []);
    await press(page, 'Declare the domain');
    await row(page, 'Domains', 'The company').waitFor();
    await press(page, 'New group');
    await fill(page, { Name: 'staff', Domain: 'corp', Users: 'ann nobody-yet' });
    assert.deepEqual(await findings(page), []);
    await press(page, 'Declare the group');
    await page.getByRole('dialog').getByText('"nobody-yet" is not declared').waitFor();
    assert.deepEqual(await findings(page), []);
    await press(page, 'Close');
    await row(page, 'Groups', 'staff').getByText('ann, nobody-yet').waitFor();
    await call('PUT', '/v1/objects/user/bob', {});
    await press(page, 'Change the members of staff');
    await fill(page, { Users: 'ann, bob' });
    await press(page, 'Set them');
    await row(page, 'Groups', 'staff').getByText('ann, bob').waitFor();
    assert.deepEqual((await call('GET', '/v1/objects/group/staff')).users, ['ann', 'bob']);
  });

  await test('an administrator of a domain declares its projects and groups, and limits its projects', async () => {
    await call('PUT', '/v1/objects/binding/corp-admins', { role: 'admin', domain: 'corp', users: ['dom'] });
    await call('PUT', '/v1/objects/project/elsewhere', {});
    const other = await as(browser, 'dom', '/people');
    await press(other.page, 'New project');
    await fill(other.page, { Name: 'corp-vision', Domain: 'corp' });
    await press(other.page, 'Declare the project');
    await row(other.page, 'Projects', 'corp-vision').waitFor();
    await press(other.page, 'Change the members of staff');
    await fill(other.page, { Users: 'ann' });
    await press(other.page, 'Set them');
    await row(other.page, 'Groups', 'staff').getByText('ann', { exact: true }).waitFor();
    await visit(other.page, '/usage');
    assert.equal(await other.page.getByRole('group', { name: 'Limits of users' }).count(), 0);
    await row(other.page, 'Limits of projects', 'corp-vision').waitFor();
    assert.equal(await row(other.page, 'Limits of projects', 'elsewhere').count(), 0);
    await press(other.page, 'Change the limits of project corp-vision');
    await fill(other.page, { 'GPUs at once': '6' });
    await press(other.page, 'Set them');
    await row(other.page, 'Limits of projects', 'corp-vision').getByText('6', { exact: true }).waitFor();
    assert.equal((await call('GET', '/v1/objects/project/corp-vision')).limits.gpus_milli, 6000);
    assert.deepEqual(await findings(other.page), []);
    assert.deepEqual(other.wrong, []);
    await other.context.close();
  });

  await test('a manager of a project declares a service account, and makes its key', async () => {
    await call('PUT', '/v1/objects/binding/cv-managers', { role: 'manager', project: 'corp-vision', users: ['max'] });
    const other = await as(browser, 'max', '/people');
    await press(other.page, 'New service account');
    await fill(other.page, { Name: 'cv-bot' });
    assert.deepEqual(await findings(other.page), []);
    await press(other.page, 'Declare it');
    await row(other.page, 'Users', 'cv-bot').getByText('Service account of corp-vision').waitFor();
    await press(other.page, 'New key');
    await fill(other.page, { 'What it is for': 'evaluation', 'Service account': 'cv-bot' });
    await press(other.page, 'Make the key');
    const key = (await other.page.locator('.secret').textContent()).trim();
    assert.equal((await call('GET', '/v1/me', undefined, key)).user, 'cv-bot');
    assert.deepEqual(other.wrong, []);
    await other.context.close();
  });

  await test('a domain is not taken back with a project in it, and the server says so', async () => {
    await visit(page, '/people');
    await press(page, 'Take back the domain corp');
    await press(page, 'Take it back');
    await page.getByRole('alert').getByText('corp-vision').waitFor();
    await press(page, 'Back');
    const objects = ['user/cv-bot', 'binding/cv-managers', 'project/corp-vision', 'project/elsewhere'];
    for (const one of [...objects, 'binding/corp-admins']) await call('DELETE', `/v1/objects/${one}`);
    await press(page, 'Take back the group staff');
    await press(page, 'Take it back');
    await row(page, 'Groups', 'staff').waitFor({ state: 'detached' });
    await press(page, 'Take back the domain corp');
    await press(page, 'Take it back');
    await row(page, 'Domains', 'corp').waitFor({ state: 'detached' });
  });
}
