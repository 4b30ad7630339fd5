// A server that answers as Dovetail does for a large cluster that changes fast, for bench/console: the console's files, and
// what its pages read, made of answers of a real server (DOVE_TEMPLATES). Nothing is decided; jobs start and end at random.
// Prints its address. CHANGES a second, NODES, JOBS.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const site = process.env.DOVE_SITE;
const templates = JSON.parse(readFileSync(process.env.DOVE_TEMPLATES, 'utf8'));
const NODES = Number(process.env.NODES);
const JOBS = Number(process.env.JOBS);
const CHANGES = Number(process.env.CHANGES);
const TICK_MS = 10;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

let seed = 1;
const chance = (below) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % below;
const startUs = Date.now() * 1000;
let head = JOBS;

const nodes = Array.from({ length: NODES }, (_, at) => {
  const node = structuredClone(templates.node);
  Object.assign(node, {
    name: `gpu-${at}`,
    jobs: [],
    topology: [{ level: 'rack', name: `rack ${Math.floor(at / 16)}` }],
  });
  for (const device of node.devices) device.free_milli = chance(3) * 500;
  return node;
});
const words = ['train', 'eval', 'sweep', 'finetune', 'render', 'fold', 'align', 'export'];
const jobs = Array.from({ length: JOBS }, (_, at) => {
  const phase = at > JOBS - 5000 ? 'active' : 'waiting';
  return {
    ...templates.job,
    id: at + 1,
    name: `${words[chance(words.length)]}-${at + 1}`,
    user: `user${chance(300)}`,
    queue: templates.queues[chance(templates.queues.length)].name,
    phase,
    state: phase === 'active' ? 'running' : 'waiting',
    submitted_at_us: startUs - (JOBS - at) * 100_000,
    started_at_us: phase === 'active' ? startUs - chance(3_600_000_000) : null,
    ended_at_us: null,
  };
});

// As a real one's, of the template; the real server's answer is put together from what is free at the moment, too.
const brief = (node) => ({
  ...templates.node_brief,
  id: node.id,
  name: node.name,
  topology: node.topology,
  jobs: node.jobs,
  devices_free_milli: node.devices.map((device) => device.free_milli),
});

function change() {
  head += 1;
  const job = jobs[JOBS - 1 - chance(5000)];
  const starts = job.phase !== 'active';
  Object.assign(job, starts ? { phase: 'active', state: 'running' } : { phase: 'waiting', state: 'waiting' });
  const node = nodes[chance(NODES)];
  node.devices[chance(node.devices.length)].free_milli = starts ? 0 : 1000;
  return `id: ${head}\nevent: x\ndata: ${JSON.stringify({ seq: head, at_us: Date.now() * 1000, kind: starts ? 'Launch' : 'PlacementEnded', job: job.id, data: { job: job.id, node: chance(NODES), attempt: 1 } })}\n\n`;
}

const streams = new Set();
let due = Date.now();
setInterval(() => {
  let text = '';
  for (; due < Date.now(); due += 1000 / CHANGES) text += change();
  for (const stream of streams) stream.write(text);
}, TICK_MS);

function filterOf(query) {
  const states = query.get('state')?.split(',').filter(Boolean) ?? [];
  const [text, queue, user] = [query.get('text')?.toLowerCase(), query.get('queue'), query.get('user')];
  const isApp = query.get('app') === '1';
  return (job) =>
    (states.length === 0 || states.includes(job.state) || states.includes(job.phase)) &&
    !isApp &&
    (!text || job.name.includes(text) || job.user.includes(text)) &&
    (!queue || job.queue === queue) &&
    (!user || job.user === user);
}

function listJobs(query) {
  const ids = query.get('ids');
  if (ids)
    return {
      jobs: ids
        .split(',')
        .map((id) => jobs[id - 1])
        .filter(Boolean),
      next: null,
      log_head: head,
    };
  const limit = Number(query.get('limit') ?? 1000);
  const found = [];
  const isWanted = filterOf(query);
  const step = query.get('order') === 'newest' ? -1 : 1;
  for (let at = step < 0 ? JOBS - 1 : 0; at >= 0 && at < JOBS && found.length < limit; at += step)
    if (isWanted(jobs[at])) found.push(jobs[at]);
  const shown = query.get('full') === '1' ? found.map((job) => ({ ...job, attempts: [] })) : found;
  return { jobs: shown, next: found.length < limit ? null : found.at(-1).id, log_head: head };
}

const ANSWERS = {
  '/v1/me': () => templates.me,
  '/v1/sign-in': () => ({ ways: [], passwords: false, local_passwords: false, site_passwords: false }),
  '/v1/cluster': () => ({
    ...templates.cluster,
    nodes: { total: NODES, connected: NODES, drained: 0, lost: 0 },
    jobs: { waiting: JOBS - 5000, running: 5000, ended: 0 },
    gpus: { total: NODES * 8, free_milli: 4000 * NODES },
  }),
  '/v1/nodes': (query) => ({
    nodes: query.get('brief') === '1' ? nodes.map(brief) : nodes,
    next: null,
    log_head: head,
  }),
  '/v1/jobs': listJobs,
  '/v1/queues': () => ({ queues: templates.queues, next: null, log_head: head }),
  '/v1/objects': () => ({ objects: [], next: null, log_head: head }),
  '/v1/quota': () => ({ user: templates.me.user, quota: [], log_head: head }),
  '/v1/keys': () => ({ keys: [], next: null, log_head: head }),
};

const files = new Map();
for (const entry of readdirSync(site, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = join(entry.parentPath ?? entry.path, entry.name);
  files.set(path.slice(site.length), gzipSync(readFileSync(path), { level: 9 }));
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://mock');
  if (url.pathname === '/v1/events') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    streams.add(response);
    return request.on('close', () => streams.delete(response));
  }
  const answer = ANSWERS[url.pathname];
  if (answer) {
    const body = JSON.stringify(answer(url.searchParams));
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
  }
  if (url.pathname.startsWith('/v1/'))
    return response
      .writeHead(404, { 'Content-Type': 'application/json' })
      .end('{"status":404,"code":"none","title":"","detail":"none"}');
  const path = files.has(url.pathname) ? url.pathname : '/index.html';
  response
    .writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream', 'Content-Encoding': 'gzip' })
    .end(files.get(path));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
