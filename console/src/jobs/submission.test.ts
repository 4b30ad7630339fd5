import { expect, it } from 'vitest';
import { likeOf, spanText, submissionOf } from './submission';

it('leaves out what was left empty, and ends lines as scripts do', () => {
  const shape = {
    script: '#!/bin/bash\r\ntrue\r\n',
    name: ' a ',
    queue: 'default',
    tasks: '2',
    gpus: '0.5',
    cores: '',
    memory: '',
    time_limit: '2h',
    project: '',
    priority: '0',
    label: '',
  };
  expect(submissionOf(shape)).toEqual({
    script: '#!/bin/bash\ntrue\n',
    name: 'a',
    queue: 'default',
    gpus: '0.5',
    time_limit: '2h',
    tasks: 2,
    priority: 0,
  });
});

it('says what another job like it asks for', () => {
  const request = { tasks: 4, nodes_min: 1, cores: 8, gpus_milli: 32000, memory_bytes: 4 * 2 ** 34 };
  expect(likeOf({ request, time_limit_s: 7200 })).toEqual({
    tasks: 4,
    gpus: '8',
    cores: 2,
    memory: '16384Mi',
    time_limit: '0-02:00:00',
  });
  expect(spanText(86400 * 2 + 3725)).toBe('2-01:02:05');
});
