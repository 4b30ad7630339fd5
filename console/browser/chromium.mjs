// Debian's chromium, driven by playwright-core, and what a page must never do: break its own policy,
// or throw.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export function launch() {
  return chromium.launch({
    executablePath: process.env.DOVE_CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--headless',
      '--disable-gpu',
      '--disable-background-networking',
      '--no-first-run',
      '--force-color-profile=srgb',
    ],
  });
}

// A page of its own profile, with a list of what went wrong on it, and the requests that are not answered yet.
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const wrong = [];
  const open = new Set();
  await context.exposeFunction('doveViolation', (what) => wrong.push(`policy: ${what}`));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      globalThis.doveViolation(
        `${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`,
      );
    });
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('request', (request) => open.add(request));
  for (const over of ['requestfinished', 'requestfailed']) page.on(over, (request) => open.delete(request));
  page.on('pageerror', (error) => wrong.push(`thrown: ${error}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of (400|401|403|404|409)/.test(message.text()))
      wrong.push(`console: ${message.text()}`);
  });
  return { page, context, wrong, open };
}

// What axe finds on the page in light and in dark colours, a line each.
export async function findings(page) {
  await page.evaluate(axe);
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    const result = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules }), RULES);
    for (const { id, help, nodes } of result.violations) {
      const where = nodes.map((node) => node.target.join(' ')).slice(0, 3);
      found.push(`${colorScheme}: ${id}: ${help}: ${where.join(' | ')}`);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  return found;
}
