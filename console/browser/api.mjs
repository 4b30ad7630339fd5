// What the suite asks of the server beside the browser.
const url = process.env.DOVE_URL;

export async function call(method, path, body, token = process.env.DOVE_ADMIN_TOKEN, user = undefined) {
  const response = await fetch(url + path, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      ...(user ? { 'X-Dove-User': user } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

export const submit = async (job, token, user) => (await call('POST', '/v1/jobs', job, token, user)).id;

// Waits for what `look` gives, which must come within some seconds.
export async function until(what, look) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`still waiting for ${what}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

export const untilState = (job, state) =>
  until(`job ${job} to be ${state}`, async () => (await call('GET', `/v1/jobs/${job}`)).state === state);
