import { expect, it } from 'vitest';
import { KEPT_CHARS, Output } from './output';

it('shows what a terminal would show, without colours', () => {
  const output = new Output();
  output.add('\u001b[32mgreen\u001b[0m\r\n10%\r20%');
  output.add('\r100%\nend');
  expect(output.shown()).toBe('green\n100%\nend');
});

it('keeps the end of a long output, from the beginning of a line', () => {
  const output = new Output();
  for (let line = 0; line < 12; line++) output.add('x'.repeat(KEPT_CHARS / 10 - 1) + '\n');
  expect(output.dropped).toBe(true);
  expect(output.shown().length).toBeLessThanOrEqual(KEPT_CHARS);
  expect(output.shown().startsWith('x'.repeat(100))).toBe(true);
});
