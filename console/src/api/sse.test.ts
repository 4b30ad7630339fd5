import { expect, it } from 'vitest';
import { EventReader } from './sse';

it('reads events in whatever pieces they come', () => {
  const text =
    ': hello\n\nid: 6\nevent: JobSubmitted\ndata: {"job":1}\n\nid: 7\r\ndata: a\r\ndata: b\r\n\r\nevent: overflow\n\n';
  const whole = new EventReader().take(text);
  expect(whole).toEqual([
    { id: '6', event: 'JobSubmitted', data: '{"job":1}' },
    { id: '7', event: 'message', data: 'a\nb' },
    { id: '7', event: 'overflow', data: '' },
  ]);
  const reader = new EventReader();
  expect([...text].flatMap((letter) => reader.take(letter))).toEqual(whole);
});
