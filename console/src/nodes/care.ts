// What an administrator may ask of a node as it stands. Pure.
import type { Node } from '../api/types';

export interface Care {
  name: string;
  verb: string;
  says: string;
  method: 'POST' | 'DELETE';
  path: string; // behind that of the node
  body?: Record<string, unknown>;
  why?: 'why' | 'reason'; // how the call names what was written as a reason
  mayStop?: boolean; // what runs there may be stopped for it
  danger?: boolean;
}

const DRAIN: Care = {
  name: 'Drain',
  verb: 'Drain it',
  says: 'What runs there may end; nothing new is started.',
  method: 'POST',
  path: '/drain',
  why: 'reason',
};
const UNDRAIN: Care = {
  name: 'Undrain',
  verb: 'Undrain it',
  says: 'Jobs may be started there again.',
  method: 'POST',
  path: '/undrain',
};
const TAKE_BACK: Care = {
  name: 'Take back',
  verb: 'Take it back',
  says: 'What was asked for is given up, and jobs may be started there again.',
  method: 'POST',
  path: '/action',
  body: { action: 'resume' },
  why: 'why',
};
const REBOOT: Care = {
  name: 'Reboot',
  verb: 'Reboot it',
  says: 'The node is rebooted once what runs there has ended.',
  method: 'POST',
  path: '/action',
  body: { action: 'reboot' },
  why: 'why',
  mayStop: true,
  danger: true,
};
const UPGRADE: Care = {
  name: 'Upgrade',
  verb: 'Upgrade it',
  says: 'The site’s hook upgrades the node (its drivers, say) once what runs there has ended.',
  method: 'POST',
  path: '/action',
  body: { action: 'upgrade' },
  why: 'why',
  mayStop: true,
  danger: true,
};
const UPGRADE_AGENT: Care = {
  name: 'Upgrade the agent',
  verb: 'Upgrade it',
  says: 'The site’s hook installs the program and starts the agent anew. Tasks go on.',
  method: 'POST',
  path: '/action',
  body: { action: 'upgrade_agent' },
  why: 'why',
};
const IS_OFF: Care = {
  name: 'It is off',
  verb: 'The machine is off',
  says:
    'Say so only if you have made sure: what ran there is started elsewhere at once, and if the machine still runs, it runs ' +
    'twice.',
  method: 'POST',
  path: '/lost',
  body: { is_off: true },
  why: 'why',
  danger: true,
};
const REMOVE: Care = {
  name: 'Remove',
  verb: 'Remove it',
  says: 'The machine is gone for good and runs nothing. If it joins again under its name, it is the same node.',
  method: 'DELETE',
  path: '',
  danger: true,
};

export function caresFor(node: Pick<Node, 'contact' | 'drained' | 'request'>): Care[] {
  const asked = node.request ? [TAKE_BACK] : [];
  const drain = node.drained ? UNDRAIN : DRAIN;
  if (node.contact === 'connected') return [...asked, drain, REBOOT, UPGRADE, UPGRADE_AGENT];
  return [...asked, drain, ...(node.contact === 'lost' ? [] : [IS_OFF]), REMOVE];
}
