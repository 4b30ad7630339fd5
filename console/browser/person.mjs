// What a person does again and again.
const url = process.env.DOVE_URL;

export async function signIn(page, path, token) {
  await page.goto(url + path);
  await page.getByLabel('Token or key').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
}

export const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();

// The row of a table that has that text.
export const row = (page, table, text) =>
  page.getByRole('group', { name: table }).getByRole('row').filter({ hasText: text });

// Goes there as a person does, without loading the page again.
export async function visit(page, path) {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
}
