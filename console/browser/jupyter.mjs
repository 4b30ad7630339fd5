// A cell is run in a real JupyterLab, reached from the console through the proxy, by its user and by whom it is shared
// with (tests/peers/console_apps_test.py). Prints a line for each step and ends with a line of counts.
import assert from 'node:assert/strict';
import { call } from './api.mjs';
import { launch, newPage } from './chromium.mjs';
import { signIn } from './person.mjs';

const PATIENCE_MS = 120_000;
const job = process.env.DOVE_SESSION_JOB;

async function open(browser, token) {
  const { page, context } = await newPage(browser);
  await signIn(page, '/sessions', token);
  const opened = context.waitForEvent('page', { timeout: PATIENCE_MS });
  await page.getByRole('link', { name: 'Open notebook' }).click();
  const session = await opened;
  session.setDefaultTimeout(PATIENCE_MS);
  return { context, session };
}

// In a new notebook, or in the last cell of what is opened again.
async function runCell(session, code, expected) {
  const card = session.locator('.jp-LauncherCard[data-category="Notebook"]').first();
  const notebook = session.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
  await card.or(notebook).first().waitFor();
  if (await card.isVisible()) await card.click();
  await notebook.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').waitFor();
  const cell = notebook.locator('.jp-CodeCell').nth((await notebook.locator('.jp-CodeCell').count()) - 1);
  await cell.locator('.cm-content').click();
  await session.keyboard.type(code);
  const output = cell.locator('.jp-OutputArea-output').getByText(expected).first();
  // JupyterLab calls a kernel idle that it is not yet connected to, and forgets what is run then.
  const end = Date.now() + PATIENCE_MS;
  for (let done = false; !done;) {
    await cell.locator('.cm-content').press('Control+Enter');
    done = await output.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
    assert(done || Date.now() < end, `the cell never said ${expected}`);
  }
}

const browser = await launch();
let passed = 0;
try {
  const own = await open(browser, process.env.DOVE_ANN_TOKEN);
  await runCell(own.session, 'print("sum", sum(range(10)))', 'sum 45');
  assert.notEqual(new URL(own.session.url()).origin, new URL(process.env.DOVE_URL).origin);
  console.log('ok      a cell is run in JupyterLab, from the console');
  passed += 1;
  const bob = (await call('POST', '/v1/users/bob/token?create=1')).token;
  await call('POST', `/v1/jobs/${job}/shares`, { users: ['bob'] }, process.env.DOVE_ANN_TOKEN);
  const guest = await open(browser, bob);
  await runCell(guest.session, 'print("guest", 6 * 7)', 'guest 42');
  console.log('ok      and by somebody with whom it is shared');
  passed += 1;
} catch (error) {
  console.log(`FAILED  ${error.stack ?? error}`);
}
await browser.close();
console.log(`${passed} passed, ${2 - passed} failed, 0 skipped`);
