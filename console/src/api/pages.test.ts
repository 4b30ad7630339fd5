import { expect, it } from 'vitest';
import { getAll } from './pages';

it('reads a list to its last page, with the filters of the first', async () => {
  const pages: Record<string, unknown> = {
    '/v1/objects?kind=user&limit=2': { objects: ['a', 'b'], next: '05/b', log_head: 7 },
    '/v1/objects?kind=user&limit=2&after=05%2Fb': { objects: ['c', 'd'], next: '05/d', log_head: 8 },
    '/v1/objects?kind=user&limit=2&after=05%2Fd': { objects: ['e'], next: null, log_head: 8 },
    '/v1/queues': { queues: ['q'], next: 'q' },
    '/v1/queues?after=q': { queues: [], next: null },
  };
  const asked: string[] = [];
  const read = (path: string) => {
    asked.push(path);
    return Promise.resolve(pages[path]);
  };
  expect(await getAll('/v1/objects?kind=user&limit=2', 'objects', read)).toEqual({
    objects: ['a', 'b', 'c', 'd', 'e'],
    next: null,
    log_head: 7,
  });
  expect(await getAll('/v1/queues', 'queues', read)).toEqual({ queues: ['q'], next: null });
  expect(asked).toEqual(Object.keys(pages));
});

it('ends at a page without `next`, and at one whose `next` is that of the page before', async () => {
  const pages: Record<string, unknown> = {
    '/v1/keys': { keys: ['a'] },
    '/v1/nodes': { nodes: ['m'], next: 'm' },
    '/v1/nodes?after=m': { nodes: ['n'], next: 'm' },
  };
  const asked: string[] = [];
  const read = (path: string) => {
    asked.push(path);
    if (!(path in pages)) throw new Error(`nobody gave ${path}`);
    return Promise.resolve(pages[path]);
  };
  expect((await getAll('/v1/keys', 'keys', read)).keys).toEqual(['a']);
  expect((await getAll('/v1/nodes', 'nodes', read)).nodes).toEqual(['m', 'n']);
  expect(asked).toEqual(Object.keys(pages));
});
