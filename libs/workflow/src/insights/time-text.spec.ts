import { agoText, aheadText, durationText, momentText } from './time-text.js';

describe('durations and moments as text', () => {
  test.each([
    [-5, '0ms'],
    [8.9, '8ms'],
    [999, '999ms'],
    [1_299, '1.2s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [303_000, '5m 3s'],
    [7_500_000, '2h 5m'],
    [86_399_999, '23h 59m'],
    [183_600_000, '2d 3h'],
    [400 * 86_400_000, '400d'],
  ])('DASH-05 %d ms reads %s', (ms, text) => expect(durationText(ms)).toBe(text));

  test('a moment of today has no date', () => {
    const now = new Date('2026-01-31T14:07:00.000Z');
    expect(momentText(new Date('2026-01-31T14:02:59.999Z'), now)).toBe('14:02 UTC');
    expect(momentText(new Date('2025-01-31T14:02:00.000Z'), now)).toBe('2025-01-31 14:02 UTC');
    expect(agoText(new Date('2026-01-30T14:02:00.000Z'), now)).toBe('2026-01-30 14:02 UTC (1d ago)');
    expect(aheadText(new Date('2026-01-31T14:12:00.000Z'), now)).toBe('14:12 UTC (in 5m)');
  });
});
