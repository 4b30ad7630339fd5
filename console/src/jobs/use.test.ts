import { expect, it } from 'vitest';
import type { JobUse } from '../api/types';
import { idleGpus, laggards, linesOf, nowText } from './use';

const line = (...mean: (number | null)[]) => ({ mean, least: mean.map((value) => value && value / 4) });

const gang: JobUse = {
  job: 7,
  begin: '2026-11-26T10:00:00Z',
  step_s: 30,
  gpu: line(80, null, 84),
  gpu_memory: line(null, null, null),
  cpu: line(9, 9, 9.4),
  last_input: null,
  nodes: [
    {
      node: 'n2',
      gpu: 12.4,
      gpu_memory: null,
      cpu: 9,
      devices: [
        { device: 0, gpu: 12.4 },
        { device: 3, gpu: 1 },
      ],
    },
    { node: 'n1', gpu: 84, gpu_memory: null, cpu: 9, devices: [{ device: 0, gpu: 84 }] },
  ],
};

it('has a line for each part that was measured, and the least node of a gang', () => {
  const { atS, lines } = linesOf(gang);
  expect(atS.map((at) => at - Date.parse(gang.begin!) / 1000)).toEqual([0, 30, 60, 90]);
  expect(lines[0]!.values).toEqual([80, null, 84, 84]);
  expect(lines.map(({ name }) => name)).toEqual(['GPU', 'GPU, least node', 'CPU']);
  expect(nowText(linesOf(gang))).toBe('GPU 84 %, GPU, least node 21 %, CPU 9 %');
});

it('names the nodes that do less than half of the mean', () => {
  expect(laggards(gang)).toBe('n2 (12 %)');
  expect(laggards({ ...gang, nodes: gang.nodes.slice(1) })).toBe('');
});

it('names the GPUs that do nothing', () => {
  expect(idleGpus(gang)).toBe('n2: 3');
  const all = Array.from({ length: 5 }, (_, at) => ({ ...gang.nodes[0]!, node: `m${at}` }));
  expect(idleGpus({ ...gang, nodes: all })).toBe('m0: 3; m1: 3; m2: 3 and on 2 more nodes');
});

it('is empty until a node has told something', () => {
  expect(linesOf({ ...gang, begin: null })).toEqual({ atS: [], lines: [] });
});
