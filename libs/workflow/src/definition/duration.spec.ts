import { MORE_THAN_ZERO, parseDuration } from './duration.js';

describe('parseDuration', () => {
  it.each([
    [0, 0],
    [1.5, 1.5],
    [86_400_001, 86_400_001],
    ['2 days', 172_800_000],
    ['15s', 15_000],
    ['1.5h', 5_400_000],
    ['250', 250],
    ['0', 0],
  ])('DEF-10 reads %p as %p milliseconds', (value, expected) => {
    expect(parseDuration(value)).toBe(expected);
  });

  it.each([
    -1,
    NaN,
    Infinity,
    -Infinity,
    '-1 day',
    'soon',
    '',
    ' 2 days',
    'two days',
    '2 fortnights',
    null,
    undefined,
    true,
    {},
    [],
    5n,
    new Date(),
  ])('DEF-10 refuses %p', (value) => {
    expect(parseDuration(value)).toEqual({ problem: expect.stringContaining('a duration of 0 or more') });
  });

  it('DEF-10 refuses 0 where more than 0 is asked for', () => {
    expect(parseDuration(0, { min: MORE_THAN_ZERO })).toEqual({ problem: expect.stringContaining('more than 0') });
    expect(parseDuration('0s', { min: MORE_THAN_ZERO })).toEqual({ problem: expect.any(String) });
    expect(parseDuration(0.5, { min: MORE_THAN_ZERO })).toBe(0.5);
  });

  it('DEF-10 names a shortest duration of its own', () => {
    expect(parseDuration(9, { min: 10 })).toEqual({ problem: expect.stringContaining('10 ms or more') });
  });

  it('DEF-10 refuses lengths that no date can hold', () => {
    expect(parseDuration('1000 years')).toBe(31_557_600_000_000);
    expect(parseDuration('1001 years')).toEqual({ problem: expect.stringContaining('1,000 years') });
    expect(parseDuration(Number.MAX_VALUE)).toEqual({ problem: expect.any(String) });
  });
});
