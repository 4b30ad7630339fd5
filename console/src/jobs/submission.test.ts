import { expect, it } from 'vitest';
import { submissionOf } from './submission';

it('leaves out what was left empty, and ends lines as scripts do', () => {
  const shape = {
    script: '#!/bin/bash\r\ntrue\r\n', name: ' a ', queue: 'default', tasks: '2', gpus: '0.5', cores: '', memory: '', time_limit: '2h',
    project: '', priority: '0', label: '',
  };
  expect(submissionOf(shape)).toEqual({ script: '#!/bin/bash\ntrue\n', name: 'a', queue: 'default', gpus: '0.5', time_limit: '2h', tasks: 2, priority: 0 });
});
