// What the console takes of a browser when the cluster is large and changes fast; for bench/console. DOVE_URL is the server
// (mock.mjs). Prints one line of JSON.
import { launch } from './chromium.mjs';

const url = process.env.DOVE_URL;
const gpus = Number(process.env.NODES) * 8;
const ROUNDS = Number(process.env.ROUNDS);
const FRAMES_S = Number(process.env.FRAMES_S);
const MINUTES = Number(process.env.MINUTES);
const FILTERS = ['train-9', 'sweep', 'user7', 'fold-1', 'align', 'nobody', '99', 'export-4', 'eval', 'user299'];

const browser = await launch();
const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))];

async function open(slowdown) {
  const context = await browser.newContext({ viewport: { width: 1366, height: 768 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const cdp = await context.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  return { context, page, cdp };
}

// When it was painted first, when each GPU was on the canvas and the page took input again, and what was fetched for it.
async function load(slowdown) {
  const { context, page, cdp } = await open(slowdown);
  let bytes = 0;
  const api = new Set();
  await cdp.send('Network.enable'); // only here: it keeps a record of each request in the page's memory
  cdp.on(
    'Network.requestWillBeSent',
    (event) => new URL(event.request.url).pathname.startsWith('/v1/') && api.add(event.requestId),
  );
  cdp.on('Network.loadingFinished', (event) => (bytes += api.has(event.requestId) ? 0 : event.encodedDataLength));
  await page.addInitScript((total) => {
    const look = () => {
      const map = document.querySelector('.heat[aria-label]');
      if (map?.ariaLabel.startsWith(`${total.toLocaleString('en')} GPU`))
        return requestAnimationFrame(() => setTimeout(() => (globalThis.usableMs = performance.now())));
      setTimeout(look, 5);
    };
    look();
  }, gpus);
  await page.goto(url);
  await page.waitForFunction(() => globalThis.usableMs !== undefined);
  const times = await page.evaluate(() => ({
    paintedMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    usableMs: globalThis.usableMs,
  }));
  await context.close();
  return { ...times, bytes };
}

// What each frame took, in whole frames of a display of 60 Hz, over some seconds: when frames begin is known to 0.1 ms.
const frames = (page, seconds) =>
  page.evaluate(
    (lasts) =>
      new Promise((done) => {
        const found = [];
        let before;
        let first;
        const take = (at) => {
          first ??= at;
          if (before !== undefined) found.push((Math.max(1, Math.round(((at - before) * 60) / 1000)) * 1000) / 60);
          before = at;
          if (at - first < lasts * 1000) requestAnimationFrame(take);
          else done(found);
        };
        requestAnimationFrame(take);
      }),
    seconds,
  );

// From what is typed to the list that it makes.
async function filterTimes(page) {
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('group', { name: 'Jobs' }).waitFor();
  const times = [];
  for (const text of FILTERS) {
    times.push(
      await page.evaluate(
        (typed) =>
          new Promise((done) => {
            const field = document.querySelector('[data-filter]');
            const begun = performance.now();
            const wanted = () => {
              const rows = [...document.querySelectorAll('tbody tr')];
              const asked = new URLSearchParams(location.search).get('text') === typed;
              const fit = rows.length > 0 && rows.every((row) => row.textContent.includes(typed));
              return asked && (fit || document.querySelector('.empty'));
            };
            const watch = new MutationObserver(() => {
              if (!wanted()) return;
              watch.disconnect();
              requestAnimationFrame(() => done(performance.now() - begun));
            });
            watch.observe(document.body, { childList: true, subtree: true, characterData: true });
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, typed);
            field.dispatchEvent(new Event('input', { bubbles: true }));
          }),
        text,
      ),
    );
  }
  return times;
}

async function heapMb(cdp) {
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize, embedderHeapUsedSize, backingStorageSize } = await cdp.send('Runtime.getHeapUsage');
  return (usedSize + (embedderHeapUsedSize ?? 0) + (backingStorageSize ?? 0)) / 2 ** 20;
}

const say = (what) => console.error(`  ${(performance.now() / 1000).toFixed(0)} s: ${what}`);
const loads = [];
for (let round = 0; round < ROUNDS; round++) loads.push(await load(4));
say('loaded');
const { page, cdp } = await open(1);
await page.goto(url);
await page.getByRole('application').waitFor();
await frames(page, 3); // what is loaded later is loaded
const first = await heapMb(cdp);
const runs = [];
for (let round = 0; round < ROUNDS; round++) runs.push(await frames(page, FRAMES_S));
say('frames are counted');
const heaps = [];
const until = Date.now() + MINUTES * 60_000;
do {
  await page.waitForTimeout(Math.min(15_000, Math.max(1000, (MINUTES * 60_000) / 8)));
  heaps.push(await heapMb(cdp));
} while (Date.now() < until);
say('the heap was watched');
const filters = await filterTimes(page);
await browser.close();
console.log(
  JSON.stringify({
    bytes: Math.max(...loads.map((one) => one.bytes)),
    painted_ms: loads.map((one) => one.paintedMs),
    usable_ms: loads.map((one) => one.usableMs),
    frame_p95_ms: runs.map((run) => quantile(run, 0.95)),
    frame_p50_ms: runs.map((run) => quantile(run, 0.5)),
    filter_ms: filters,
    heap_mb: [first, ...heaps],
  }),
);
