// The sign-in page where the site has a hook and the server passwords of its own (tests/e2e/console_passwords_test.py
// starts both). Prints a line for each test and ends with a line of counts.
import assert from 'node:assert/strict';
import { call, until } from './api.mjs';
import { findings, launch, newPage } from './chromium.mjs';
import { heading } from './person.mjs';

const url = process.env.DOVE_URL;
const right = process.env.DOVE_HOOK_PASSWORD;
const browser = await launch();
let passed = 0;
let failed = 0;

async function test(name, body) {
  const person = await newPage(browser);
  try {
    await body(person.page);
    assert.deepEqual(
      person.wrong.filter((what) => !/status of 503/.test(what)),
      [],
    );
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(
      `FAILED  ${name}\n${error.stack ?? error}\n${(await person.page.locator('body').innerText()).slice(0, 800)}`,
    );
  }
  await person.context.close();
}

async function shows(page, user, password) {
  await page.getByLabel('User').fill(user);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

await test('whom the hook lets in gets where they wanted, by keys alone', async (page) => {
  await page.goto(`${url}/jobs?state=ended`);
  await page.getByLabel('User').waitFor();
  assert.deepEqual(await findings(page), []);
  await page.keyboard.type('grace');
  await page.keyboard.press('Tab');
  await page.keyboard.type(right);
  await page.keyboard.press('Enter');
  await heading(page, 'Jobs');
  assert.equal(new URL(page.url()).search, '?state=ended');
  assert.deepEqual((await call('GET', '/v1/objects/group/hook.ml')).users, ['grace']);
  assert.ok(!(await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }))).includes('dove'));
});

await test('a wrong password and a hook that fails are told apart, and both are in the audit', async (page) => {
  await page.goto(`${url}/audit`);
  await shows(page, 'linus', 'guessed by chance');
  await page.getByRole('alert').getByText('not the name and the password').waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByLabel('Password', { exact: true }).fill(right);
  await page.getByLabel('User').fill('breaks');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('hook').waitFor();
  await until('both to be written down', async () => {
    const refused = (await call('GET', '/v1/events?audit=1&kind=CallsRefused')).events.map(({ data }) => data.code);
    return refused.includes('wrong_password') && refused.includes('hook_failed');
  });
  await page.getByRole('button', { name: 'Use a token or a key' }).click();
  await page.getByLabel('Token or key').fill(process.env.DOVE_ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await heading(page, 'Audit');
  for (const code of ['wrong_password', 'hook_failed']) await page.getByText(code).first().waitFor();
});

await test('the first password from somebody else is changed at sign-in', async (page) => {
  await call('PUT', '/v1/objects/user/bea', {});
  await call('PUT', '/v1/users/bea/password', { password: 'given by somebody' });
  await page.goto(url);
  await shows(page, 'bea', 'given by somebody');
  await page.getByLabel('New password').fill('known to bea alone');
  await page.getByLabel('The same again').fill('known to bea alome');
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('two different passwords').waitFor();
  await page.getByLabel('The same again').fill('known to bea alone');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  assert.equal(await page.evaluate(async () => (await (await fetch('/v1/me')).json()).user), 'bea');
});

await browser.close();
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed > 0 ? 1 : 0);
