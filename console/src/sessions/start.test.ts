import { expect, it } from 'vitest';
import type { StartableApp } from '../api/types';
import { startOf } from './start';

const lab: StartableApp = {
  name: 'notebook',
  title: 'JupyterLab',
  built_in: true,
  operand: '',
  program_at: 2,
  job: { command: ['sh', '-c', 'jupyter'], name: 'notebook', app: { name: 'notebook', socket: 'app' } },
};

it('lays what was typed over the job of the app', () => {
  expect(startOf(lab, { name: ' mine ', gpus: '0.5', cores: '2', queue: '', time_limit: '2h' })).toEqual({
    ...lab.job,
    name: 'mine',
    gpus: '0.5',
    cores: 2,
    time_limit: '2h',
  });
});

it('gives the program of a built-in app, and its argument', () => {
  expect(startOf(lab, { program: '/opt/jupyter', operand: '/logs' }).command).toEqual([
    'sh',
    '-c',
    '/opt/jupyter',
    '/logs',
  ]);
  expect(startOf({ ...lab, built_in: false }, { program: '/opt/jupyter' }).command).toEqual(lab.job.command);
});

it('begins in the folder, which is a volume where there is an image', () => {
  expect(startOf(lab, { folder: '/home/ann' }).workdir).toBe('/home/ann');
  expect(startOf(lab, { folder: '/home/ann', image: 'lab:2' }).container).toEqual({
    image: 'lab:2',
    workdir: '/home/ann',
    volumes: [{ source: '/home/ann', target: '/home/ann', writable: true }],
  });
  const site = { ...lab, job: { ...lab.job, container: { image: 'ours', volumes: [{ source: '/data' }] } } };
  expect((startOf(site, { folder: '/w' }).container as { volumes: unknown[] }).volumes.length).toBe(2);
});

it('starts at a time of the reader', () => {
  expect(startOf(lab, { begin: '2026-11-24T10:00' }).begin_at_us).toBe(new Date(2026, 10, 24, 10).getTime() * 1000);
});
