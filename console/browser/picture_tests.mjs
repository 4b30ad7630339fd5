// What is drawn: the map of GPUs, the plan, attempts in time; and how many streams a tab holds; a part of suite.mjs.
import assert from 'node:assert/strict';
import { call, submit, until, untilState } from './api.mjs';
import { executor } from './executor.mjs';
import { findings, newPage } from './chromium.mjs';
import { heading, signIn, visit } from './person.mjs';

const HEAD = 26; // of the plan, and the height of a row there
const ROW = 24;

// The colours of a canvas that differ, over one line of pixels.
const colours = (canvas, y) =>
  canvas.evaluate((one, at) => {
    const scale = one.width / one.getBoundingClientRect().width;
    const { data } = one.getContext('2d').getImageData(0, Math.round(at * scale), one.width, 1);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data.slice(i, i + 3).join(' '));
    return [...seen];
  }, y);

export async function pictureTests({ test, page, browser, admin, pages }) {
  await test('the map is coloured in five ways, and a click opens who holds a GPU, or its node', async () => {
    const holding = await submit({ name: 'clicked', command: ['sleep', '600'], gpus: 1 });
    await untilState(holding, 'running');
    await visit(page, '/');
    const map = page.getByRole('application');
    await map.waitFor();
    const legend = page.locator('.heat-box .legend');
    const shown = new Set();
    for (const view of ['Taken', 'Use', 'Health', 'Holder', 'Queue']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      await page.waitForFunction((name) => {
        const pressed = document.querySelector('.heat-box [aria-pressed="true"]');
        return pressed?.textContent === name;
      }, view);
      shown.add(await legend.innerText());
    }
    assert.equal(shown.size, 5, [...shown].join(' / '));
    assert.match(await legend.innerText(), /Free.*default/s);
    await page.getByRole('button', { name: 'Holder' }).click();
    const box = await map.boundingBox();
    const places = [];
    for (let x = 4; x < box.width; x += 6) for (let y = 4; y < box.height; y += 6) places.push({ x, y });
    const find = async (pattern) => {
      for (const position of places) {
        await map.hover({ position });
        if (pattern.test(await page.locator('.heat-tip').textContent())) return position;
      }
      throw new Error(`no GPU says ${pattern}`);
    };
    const free = await find(/node\d.*free/i);
    const taken = await find(/job \d+ clicked/);
    await map.click({ position: taken });
    await heading(page, 'clicked');
    await page.goBack();
    await map.click({ position: free });
    await page.waitForURL(/\/nodes\/node\d/);
    await visit(page, '/');
    await page.getByRole('button', { name: 'Table' }).click();
    await page
      .getByRole('group', { name: 'GPUs by node' })
      .getByRole('link', { name: String(holding), exact: true })
      .waitFor();
    await call('POST', `/v1/jobs/${holding}/cancel`);
  });

  await test('a GPU that a Slurm gave to its own job has a holder, on the map and on the page of its node', async () => {
    const slurm = await executor('slurm', 'node2', [0, 1]);
    try {
      await visit(page, '/nodes');
      await visit(page, '/');
      await page.getByRole('button', { name: 'Holder', exact: true }).click();
      await page.locator('.heat-box .legend').getByText('ada (slurm)').waitFor();
      const map = page.getByRole('application');
      await map.focus();
      const told = page.locator('.heat-tip').getByText('slurm job 77 of ada (main)');
      for (let at = 0; at < 8 && (await told.count()) === 0; at++) await page.keyboard.press('ArrowRight');
      assert.equal(await told.count(), 1, await page.locator('.heat-tip').innerText());
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/nodes\/node2/);
      const devices = page.getByRole('group', { name: 'Devices' }).locator('tbody tr');
      await devices.filter({ hasText: 'slurm job 77 of ada (main)' }).nth(1).waitFor();
      const row = page.getByRole('group', { name: 'Jobs of slurm' }).locator('tbody tr');
      assert.match(
        await row.innerText(),
        /77 folding\s+ada\s+lab\s+queue default\s+main\s+4,000\s+GPU 0, 1, 1 core, 1 GiB\s+–\s+in /,
      );
      assert.deepEqual(await findings(page), []);
      await slurm.says([]); // the page hears that it has ended
      await page.getByText('slurm runs nothing here.').waitFor();
    } finally {
      await slurm.end();
    }
  });

  await test('the plan draws a reservation and what runs, where the table has them, and a click opens it', async () => {
    const from = Date.now() * 1000 + 1800e6;
    const times = { starts_at_us: from, ends_at_us: from + 1800e6 };
    await call('PUT', '/v1/objects/reservation/demo', { ...times, nodes: ['node1'], outage: true });
    const runs = await submit({ name: 'in-the-plan', command: ['sleep', '600'], time_limit: '1h' });
    await untilState(runs, 'running');
    await visit(page, '/plan');
    const table = page.getByRole('group', { name: 'The plan' });
    await table.getByText('in-the-plan').waitFor();
    const names = await table.locator('tbody td:first-child').allTextContents();
    const rowOf = (name) => HEAD + names.findIndex((one) => one.includes(name)) * ROW + 8;
    const canvas = page.locator('.gantt canvas');
    const empty = await colours(canvas, rowOf('demo') + 13); // between two bars
    const drawn = async (name) => (await colours(canvas, rowOf(name))).filter((one) => !empty.includes(one));
    const [outage, running] = [await drawn('demo'), await drawn('in-the-plan')];
    assert.ok(outage.length > 0 && running.length > 0);
    assert.ok(outage.some((colour) => !running.includes(colour)));
    await canvas.click({ position: { x: 300, y: rowOf('in-the-plan') } });
    await heading(page, 'in-the-plan');
    await call('POST', `/v1/jobs/${runs}/cancel`);
    await call('DELETE', '/v1/objects/reservation/demo');
  });

  await test('a job that ran twice shows both attempts, in time and with their ranks', async () => {
    const twice = await submit({ name: 'twice', command: ['sleep', '600'], tasks: 2 });
    await untilState(twice, 'running');
    await call('POST', `/v1/jobs/${twice}/requeue`);
    await until('its second attempt', async () => {
      const job = await call('GET', `/v1/jobs/${twice}`);
      return job.state === 'running' && job.attempts.length === 2;
    });
    await visit(page, `/jobs/${twice}`);
    const attempts = page.getByRole('group', { name: 'Attempts' }).locator('tbody tr');
    await page.waitForFunction(() => document.querySelectorAll('.timeline rect').length >= 4);
    assert.deepEqual(await attempts.locator('td:first-child').allTextContents(), ['2', '1']);
    await page.getByRole('img', { name: /2 attempts/ }).waitFor();
    assert.equal(await page.getByRole('group', { name: 'Ranks' }).locator('tbody tr').count(), 2);
    await call('POST', `/v1/jobs/${twice}/cancel`);
  });

  await test('a tab holds one stream of events, whatever pages it goes to', async () => {
    const other = await newPage(browser);
    const open = new Set();
    let begun = 0;
    other.page.on('request', (request) => {
      if (request.headers().accept === 'text/event-stream') (open.add(request), (begun += 1));
    });
    for (const over of ['requestfinished', 'requestfailed']) other.page.on(over, (request) => open.delete(request));
    await signIn(other.page, '/', admin);
    for (const path of pages) await visit(other.page, path);
    assert.equal(open.size, 1);
    assert.equal(begun, 1);
    await other.context.close();
  });
}
