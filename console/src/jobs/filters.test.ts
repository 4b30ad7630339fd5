import { describe, expect, it } from 'vitest';
import { jobsPath, readFilters, referenceOf, resourcesOf, typeOf } from './filters';

const request = { tasks: 1, nodes_min: 1, cores: 1, gpus_milli: 0, memory_bytes: 0 };

describe('filters', () => {
  it('reads what the address says, and nothing else', () => {
    expect(readFilters(new URLSearchParams('state=running&user=ann&x=1&text=%20'))).toEqual({
      state: 'running',
      user: 'ann',
    });
  });
  it('asks for a page of jobs, newest first', () => {
    expect(jobsPath({ user: 'ann' })).toBe('/v1/jobs?user=ann&order=newest&limit=50&framework=1');
    expect(jobsPath({ text: 'llm' }, '90')).toBe('/v1/jobs?text=llm&order=newest&limit=50&after=90&framework=1');
  });
  it('takes a number for the id of a job', () => {
    expect(jobsPath({ text: '12_3' })).toBe('/v1/jobs?ids=12_3&limit=50&framework=1');
  });
});

describe('jobs', () => {
  it('names one element of an array', () => {
    expect(referenceOf({ id: 7, array: null })).toBe('7');
    expect(referenceOf({ id: 9, array: { id: 7, index: 2, size: 4, running_max: 0 } })).toBe('7_2');
  });
  it('says what kind of job it is and what it asks for', () => {
    expect(typeOf({ launch: 'batch', request, array: null })).toBe('Batch script');
    expect(typeOf({ launch: 'each_task', request: { ...request, tasks: 4 }, array: null })).toBe('Gang of 4');
    expect(typeOf({ launch: 'batch', request, array: null, framework: 'pytorch' })).toBe('PyTorch single');
    const gang = { ...request, tasks: 4 };
    expect(typeOf({ launch: 'each_task', request: gang, array: null, framework: 'tensorflow' })).toBe(
      'TensorFlow distributed',
    );
    expect(typeOf({ launch: 'each_task', request: gang, array: null, framework: 'mpi' })).toBe('MPI');
    expect(typeOf({ launch: 'each_task', request: gang, array: null, framework: '' })).toBe('Gang of 4');
    expect(resourcesOf({ ...request, gpus_milli: 1000 })).toBe('1 GPU · 1 core');
    expect(resourcesOf({ ...request, gpus_milli: 2500, nodes_min: 2, memory_bytes: 2 ** 30 })).toBe(
      '2.5 GPUs · 1 core · 1 GiB · 2 nodes',
    );
  });
});
