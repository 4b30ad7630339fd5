import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import type { NodeExecutor } from '../api/types';
import { ExecutorPanel, foreignHere } from './executors';

const one = {
  id: '7',
  name: 'train',
  user: 'ada',
  account: '',
  partition: 'main',
  priority: 0,
  devices: [1],
  cores: [],
  memory_bytes: 0,
  started_at_us: 1_700_000_000_000_000,
};
const executor = {
  name: 'slurm',
  contact: 'connected',
  state: 'ready',
  why: '',
  closes: false,
  features: [],
  foreign: [
    one,
    { ...one, id: 'reservation:now', name: '', started_at_us: undefined, devices: [2] },
    { ...one, id: 'reservation:later', name: '', started_at_us: 4_000_000_000_000_000, devices: [3] },
  ],
} as unknown as NodeExecutor;

it('holds now what is not kept for later', () => {
  expect(foreignHere({ executors: [executor] }).map(({ id }) => id)).toEqual(['7', 'reservation:now']);
});

it('says from when on the rest is kept', () => {
  const table = renderToStaticMarkup(createElement(ExecutorPanel, { executor }));
  const rows = table.split('<tr>').slice(-3);
  const times = rows.map((row) => row.match(/dateTime="([^"]*)"/i)?.[1]);
  expect(times).toEqual([undefined, undefined, '2096-10-02T07:06:40.000Z']);
  expect(table).toContain('<th>From</th>');
});
