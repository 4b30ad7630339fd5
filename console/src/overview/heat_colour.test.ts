import { describe, expect, it } from 'vitest';
import type { Job, NodeBrief } from '../api/types';
import {
  groupOf,
  healthTone,
  holdersOf,
  strangersOf,
  takenTone,
  tip,
  tones,
  unheldTone,
  useTone,
  wordOf,
} from './heat_colour';

describe('heat colours', () => {
  it('tells free, partly and wholly taken', () => {
    expect([1000, 400, 0].map(takenTone)).toEqual(['free', 'part', 'full']);
  });
  it('tells the busy from those that are held for nothing', () => {
    const node = { devices_free_milli: [0, 0, 500, 0, 1000], devices_use_percent: [90, 4.9, 30, null, null] };
    expect([0, 1, 2, 3, 4].map((device) => useTone(node, device))).toEqual(['full', 'hold', 'part', 'none', 'free']);
    expect(useTone({ devices_free_milli: [0] }, 0)).toBe('none');
    expect([0, 2, 4, 5].map((device) => unheldTone(node, device))).toEqual(['none', 'none', 'free', 'free']);
    const shown = { ...node, name: 'n1', gpu_model: '', state: 'ready', jobs: [], findings: [], topology: [], id: 1 };
    expect(tip(shown as unknown as NodeBrief, 0, undefined, undefined)).toBe('n1, GPU 0 · 100 % taken · 90 % busy');
  });
  it('shows the trouble of a device before that of its node', () => {
    const node = { state: 'ready' as const, findings: [{ check: 'ecc', severity: 'fault' as const, device: 3 }] };
    expect(healthTone(node, 3)).toBe('bad');
    expect(healthTone(node, 2)).toBe('good');
    expect(healthTone({ state: 'drained', findings: [] }, 0)).toBe('hold');
  });
  it('gives the same name the same tone, whoever else is there', () => {
    expect(tones(['b', 'a', 'b'])).toEqual(
      new Map([
        ['a', 'c0'],
        ['b', 'c1'],
      ]),
    );
  });
  it('finds who holds what', () => {
    const job = {
      id: 7,
      attempts: [{ stage: 'running', placements: [{ node_name: 'n1', devices: [{ device: 2, share_milli: 1000 }] }] }],
    } as unknown as Job;
    const ended = {
      id: 6,
      attempts: [{ stage: 'ended', placements: [{ node_name: 'n1', devices: [{ device: 1, share_milli: 1000 }] }] }],
    } as unknown as Job;
    const holders = holdersOf([job, ended]);
    expect(holders.get('n1/2')?.id).toBe(7);
    expect(holders.has('n1/1')).toBe(false);
  });
  it('names what a Slurm runs there as the holder', () => {
    const foreign = [
      { executor: 'slurm', id: '77', user: 'ada', partition: 'main', queue: 'research', devices: [1, 2] },
      { executor: 'slurm', id: '78', user: 'bo', partition: '', devices: [3] },
    ];
    const node = { name: 'n1', foreign, devices_free_milli: [1000, 0, 0, 0], gpu_model: '', state: 'ready', jobs: [] };
    const strangers = strangersOf([node, { name: 'n2' }]);
    const said = (device: number) =>
      tip(node as unknown as NodeBrief, device, undefined, strangers.get(`n1/${device}`));
    expect(said(0)).toBe('n1, GPU 0 · free');
    expect(said(2)).toBe('n1, GPU 2 · slurm job 77 of ada (main)');
    expect(said(3)).toBe('n1, GPU 3 · slurm job 78 of bo');
    expect([...strangers.values()].map(wordOf.holder.foreign)).toEqual(['ada (slurm)', 'ada (slurm)', 'bo (slurm)']);
    expect([...strangers.values()].map(wordOf.queue.foreign)).toEqual(['research', 'research', 'slurm, no queue']);
  });
  it('names the rack of a node', () => {
    expect(
      groupOf({
        topology: [
          { level: 'row', name: 'r1' },
          { level: 'rack', name: 'a' },
        ],
      }),
    ).toBe('r1 / a');
    expect(groupOf({ topology: [] })).toBe('No rack');
  });
});
