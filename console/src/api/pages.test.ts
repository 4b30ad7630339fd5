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
