/// <reference types="node" />
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as reads from './first_reads';

it('are those that early.js asks for', () => {
  const text = readFileSync(new URL('../../public/early.js', import.meta.url), 'utf8');
  expect([...text.matchAll(/'(\/v1\/[^']*)'/g)].map(([, path]) => path)).toEqual([...Object.values(reads), '/v1/me']);
});
