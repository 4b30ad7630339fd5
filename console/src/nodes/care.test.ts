import { expect, it } from 'vitest';
import { caresFor } from './care';

const names = (node: Parameters<typeof caresFor>[0]) => caresFor(node).map((care) => care.name);

it('offers what can be done with the node as it stands', () => {
  const node = { contact: 'connected', drained: false } as const;
  expect(names(node)).toEqual(['Drain', 'Reboot', 'Upgrade', 'Upgrade the agent']);
  expect(names({ ...node, drained: true })).toEqual(['Undrain', 'Reboot', 'Upgrade', 'Upgrade the agent']);
  const request = { action: 'reboot', who: 'root', why: '' } as never;
  expect(names({ ...node, request })[0]).toBe('Take back');
  expect(names({ ...node, contact: 'silent' })).toEqual(['Drain', 'It is off', 'Remove']);
  expect(names({ ...node, contact: 'lost' })).toEqual(['Drain', 'Remove']);
});
