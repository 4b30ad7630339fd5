import { expect, it } from 'vitest';
import { auditPath, entryOf } from './audit';

it('says what was refused to whom, and from where', () => {
  const data = { who: 'eve', address: '10.0.0.7', operation: 'getEvents', code: 'role_needed', times: 3 };
  expect(entryOf({ seq: 1, at_us: 0, kind: 'CallsRefused', data })).toEqual({
    who: 'eve',
    from: '10.0.0.7',
    what: 'Refused: getEvents',
    about: 'role_needed, 3 times',
    refused: true,
  });
});

it('says what was done to what', () => {
  const key = { kind: 'session', name: 'ci', user: 'ada' };
  expect(entryOf({ seq: 1, at_us: 0, kind: 'KeyIssued', principal: 'ada', data: { key } })).toMatchObject({
    who: 'ada',
    what: 'Key issued',
    about: 'session ci of ada',
  });
  expect(entryOf({ seq: 1, at_us: 0, kind: 'JobSubmitted', job: 7, principal: 'ada' }).about).toBe('job 7');
});

it('asks for a page, newest first', () => {
  expect(auditPath('ada', '', '9')).toBe('/v1/events?audit=1&order=newest&user=ada&limit=50&after=9');
});
