// What people do, by keys alone: no pointer, and nothing focused for them; a part of suite.mjs.
import assert from 'node:assert/strict';
import { call, submit, until, untilState } from './api.mjs';
import { newPage } from './chromium.mjs';
import { heading, visit } from './person.mjs';

const url = process.env.DOVE_URL;

// Tab until the control of that name has the focus: its accessible name, as a screen reader says it.
export async function tabTo(page, name, key = 'Tab') {
  const seen = [];
  for (let left = 150; left > 0; left--) {
    await page.keyboard.press(key);
    const at = await page.evaluate(() => {
      const one = document.activeElement;
      const label = one.labels?.[0];
      const own = label && [...label.childNodes].find((node) => node.nodeType === Node.TEXT_NODE);
      return (one.getAttribute('aria-label') ?? own?.textContent ?? label?.textContent ?? one.textContent ?? '').trim();
    });
    if (at === name) return;
    seen.push(at.slice(0, 40));
  }
  throw new Error(`${key} never comes to ${name}, but to ${[...new Set(seen)].join(' | ')}`);
}

async function press(page, name, key = 'Enter') {
  await tabTo(page, name);
  await page.keyboard.press(key);
}

async function write(page, name, text) {
  await tabTo(page, name);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
}

async function goTo(page, keys, name) {
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.type(keys);
  await heading(page, name);
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
}

export async function keyboardTests({ test, page, browser }) {
  await test('by keys: signing in with the service of an organisation', async () => {
    const other = await newPage(browser);
    await other.page.goto(`${url}/jobs`);
    await other.page.getByRole('link', { name: 'Sign in with Example Corp' }).waitFor();
    await press(other.page, 'Sign in with Example Corp');
    await other.page.getByLabel('Account').waitFor();
    await write(other.page, 'Account', 'linus');
    await other.page.keyboard.press('Enter');
    await heading(other.page, 'Jobs');
    await other.page.getByText('linus').first().waitFor();
    await other.context.close();
  });

  let job;
  await test('by keys: a job is submitted, its log read, and its terminal used and left', async () => {
    await visit(page, '/');
    await goTo(page, 'gj', 'Jobs');
    await press(page, 'Submit a job');
    await heading(page, 'Submit a job');
    await write(page, 'Name', 'typed');
    await write(page, 'Script', '#!/bin/sh\necho by keys\nsleep 600\n');
    await press(page, 'Submit');
    await heading(page, 'typed');
    job = Number(new URL(page.url()).pathname.split('/')[2]);
    await page.locator('.page-head [data-state="running"]').waitFor();
    await tabTo(page, 'Summary');
    await page.keyboard.press('ArrowRight');
    await page.getByRole('log').getByText('by keys').waitFor();
    await page.keyboard.press('ArrowRight');
    await press(page, 'Open');
    await page.getByText('It runs.').waitFor();
    await page.keyboard.type('echo $((6*7))-typed\n');
    await page.locator('.terminal').getByText('42-typed').first().waitFor();
    await page.keyboard.press('Control+Shift+E');
    assert.equal(await page.evaluate(() => document.activeElement.closest('.terminal')), null);
    await tabTo(page, 'Open again', 'Shift+Tab');
    await call('POST', `/v1/jobs/${job}/cancel`);
  });

  await test('by keys: a limit is raised', async () => {
    await call('PUT', '/v1/objects/limit/ann', { limits: { gpus: 1 } });
    await goTo(page, 'gu', 'Usage');
    await press(page, 'Change the limits of ann');
    await page.getByRole('dialog').waitFor();
    await write(page, 'GPUs at once', '3');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await call('GET', '/v1/objects/limit/ann')).limits.gpus_milli, 3000);
    await call('DELETE', '/v1/objects/limit/ann');
  });

  await test('by keys: a node is drained, and taken back', async () => {
    await goTo(page, 'gn', 'Nodes');
    await press(page, 'node2');
    await heading(page, 'node2');
    await press(page, 'Drain');
    await write(page, 'Reason', 'by keys');
    await press(page, 'Drain it');
    await page.getByText('by keys').waitFor();
    await press(page, 'Undrain');
    await press(page, 'Undrain it');
    await page.locator('.page-head [data-state="ready"]').waitFor();
  });

  await test('by keys: a role is given and taken back, a key made and revoked', async () => {
    await call('PUT', '/v1/objects/project/keyed', {});
    await goTo(page, 'gk', 'People');
    await press(page, 'Give a role');
    await write(page, 'Project', 'keyed');
    await write(page, 'Name', 'ann');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual((await call('GET', '/v1/objects/binding/keyed.members')).users, ['ann']);
    await page.getByRole('button', { name: 'Take member of project keyed from ann' }).waitFor();
    await press(page, 'Take member of project keyed from ann');
    await press(page, 'Take it back');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual((await call('GET', '/v1/objects/binding/keyed.members')).users ?? [], []);
    await press(page, 'New key');
    await page.keyboard.type('typed');
    await write(page, 'User', 'ann');
    await press(page, 'Make the key');
    await page.locator('.secret').waitFor();
    await press(page, 'I have it');
    await press(page, 'Revoke typed');
    await press(page, 'Revoke it');
    await page.getByRole('button', { name: 'Revoke typed' }).waitFor({ state: 'detached' });
    for (const object of ['binding/keyed.members', 'project/keyed']) await call('DELETE', `/v1/objects/${object}`);
  });

  await test('by keys: a waiting job is found, and its reasons are read', async () => {
    const waits = await submit({ name: 'waits-for-keys', command: ['true'], gpus: 4, features: ['warp'] });
    await untilState(waits, 'waiting');
    await goTo(page, 'gj', 'Jobs');
    await page.keyboard.press('/');
    await page.keyboard.type('waits-for-keys');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    await press(page, 'waits-for-keys');
    await heading(page, 'waits-for-keys');
    await page.getByRole('region', { name: 'Why it waits' }).getByRole('listitem').first().waitFor();
    await press(page, 'Cancel');
    await press(page, 'Cancel the job');
    await until('its end', async () => (await call('GET', `/v1/jobs/${waits}`)).state === 'cancelled');
  });
}
