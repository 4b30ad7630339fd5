import { describe, expect, it } from 'vitest';
import { bytes, count, duration, grouped, percent, relative, thousandths, words } from './format';

describe('format', () => {
  it('writes durations with two units at most', () => {
    expect(duration(0)).toBe('0 s');
    expect(duration(59.9)).toBe('59 s');
    expect(duration(3725)).toBe('1 h 2 min');
    expect(duration(7200)).toBe('2 h');
    expect(duration(86400 * 3 + 3600)).toBe('3 d 1 h');
  });
  it('writes instants relative to now', () => {
    expect(relative(1_000_000, 3_000_000)).toBe('now');
    expect(relative(0, 300e6)).toBe('5 min ago');
    expect(relative(7200e6, 0)).toBe('in 2 h');
  });
  it('writes amounts', () => {
    expect(bytes(16 * 2 ** 30)).toBe('16 GiB');
    expect(bytes(1536)).toBe('1.5 KiB');
    expect(thousandths(2500)).toBe('2.5');
    expect([0, 999, 1000, 1234567, 12345.6, -1000].map(grouped)).toEqual([
      '0',
      '999',
      '1,000',
      '1,234,567',
      '12,345.6',
      '-1,000',
    ]);
    expect(count(1, 'job')).toBe('1 job');
    expect(count(14000, 'GPU')).toBe('14,000 GPUs');
    expect(words('dependency_never_met')).toBe('Dependency never met');
    expect(percent(1, 0)).toBe(0);
  });
});
