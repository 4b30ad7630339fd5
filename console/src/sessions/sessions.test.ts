import { expect, it } from 'vitest';
import { appName, namesIn, sessionsPath, statusOf, timeLeft } from './sessions';

it('asks for the sessions that are open, or over', () => {
  expect(sessionsPath('open', '')).toBe('/v1/jobs?app=1&state=waiting%2Cactive&order=newest&limit=50');
  expect(sessionsPath('stopped', 'ann', '7')).toBe(
    '/v1/jobs?app=1&state=held%2Cended&user=ann&order=newest&limit=50&after=7',
  );
});

it('says how a session does, in few words', () => {
  expect(statusOf({ phase: 'active', state: 'running' })).toEqual({ word: 'running', how: '' });
  expect(statusOf({ phase: 'waiting', state: 'held' })).toEqual({ word: 'stopped', how: '' });
  expect(statusOf({ phase: 'ended', state: 'stopped_idle' })).toEqual({ word: 'stopped', how: 'Stopped idle' });
  expect([appName('notebook'), appName('stream_lit'), appName(undefined)]).toEqual(['JupyterLab', 'Stream lit', '–']);
});

it('counts down to the second in the last hour', () => {
  expect(timeLeft(560e6, 0)).toBe('in 9 min 20 s');
  expect(timeLeft(60e6, 0)).toBe('in 1 min');
  expect(timeLeft(9e6, 0)).toBe('in 9 s');
  expect(timeLeft(7260e6, 0)).toBe('in 2 h 1 min');
  expect(timeLeft(1, 5)).toBe('now');
});

it('reads names as people type them', () => {
  expect(namesIn(' ann, bo\nann,')).toEqual(['ann', 'bo']);
});
