import { describe, expect, it } from 'vitest';
import type { Job } from '../api/types';
import { groupOf, healthTone, holdersOf, tones, useTone } from './heat_colour';

describe('heat colours', () => {
  it('tells free, partly and wholly taken', () => {
    expect([1000, 400, 0].map(useTone)).toEqual(['free', 'part', 'full']);
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
