import { expect, it } from 'vitest';
import type { NoticeStanding } from '../api/types';
import { sayAbout, withoutTarget, withTarget } from './notices';

const shown: NoticeStanding[] = [
  { by: 'mail', to: 'a@example.org', about: ['job_ended'], waiting: 0, delivered: 3, suppressed: 0 },
  { by: 'webhook', to: 'https://h/***1', about: ['job_failed'], waiting: 1, delivered: 0, suppressed: 0 },
];

it('sends the list back as the API takes it, without how targets do', () => {
  const added = withTarget(shown, { by: 'slack', to: 'https://s', about: ['job_started'] });
  expect(added.map((one) => Object.keys(one).sort().join())).toEqual(Array(3).fill('about,by,to'));
  expect(withTarget(shown, { by: 'mail', to: 'b@example.org', about: [] }, 0)[0]!.to).toBe('b@example.org');
  expect(withoutTarget(shown, 0)).toEqual([{ by: 'webhook', to: 'https://h/***1', about: ['job_failed'] }]);
  expect(sayAbout('job_failed')).toBe('it fails');
});
