import { expect, it } from 'vitest';
import { Chords } from './keys';

const key = (name: string, more = {}) => ({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...more });

it('takes single keys and chords, and forgets a chord that is begun too long ago', () => {
  const bindings = ['g j', 'g o', '?'].map((keys) => ({ keys, what: keys, run: () => {} }));
  const chords = new Chords(() => bindings);
  expect(chords.take(key('?'), 0)?.keys).toBe('?');
  expect(chords.take(key('g'), 10)).toBeUndefined();
  expect(chords.take(key('j'), 20)?.keys).toBe('g j');
  chords.take(key('g'), 100);
  expect(chords.take(key('j'), 5000)).toBeUndefined();
  chords.take(key('g'), 6000);
  expect(chords.take(key('j', { ctrlKey: true }), 6010)).toBeUndefined();
});
