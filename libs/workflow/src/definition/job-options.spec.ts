import { checkFanOutJobOptions, checkJobOptions, mergeJobOptions } from './job-options.js';

const place = { owner: 'OrderWorkflow', step: 'capture' };

describe('jobOptions', () => {
  it('DEF-15 take queue, priority, wait and waitUntil', () => {
    const waitUntil = new Date('2030-01-01');
    const options = checkJobOptions({ queue: 'mail', priority: -3, wait: '2s', waitUntil }, place);
    expect(options).toEqual({ queue: 'mail', priority: -3, wait: 2_000, waitUntil });
    expect(options.waitUntil).not.toBe(waitUntil);
    expect(Object.isFrozen(options)).toBe(true);
    expect(checkJobOptions(undefined, place)).toEqual({});
    expect(checkJobOptions({ queue: undefined }, place)).toEqual({});
  });

  it('DEF-15 DEF-09 take nothing else', () => {
    expect(() => checkJobOptions({ lane: 'mail' }, place)).toThrow(
      'OrderWorkflow, step "capture": "jobOptions.lane" is "mail", but jobOptions has no such option; allowed: queue, priority, wait, waitUntil.',
    );
    expect(() => checkFanOutJobOptions({ waitUntil: new Date() }, place)).toThrow('allowed: queue, priority, wait.');
  });

  it.each([
    ['queue', ''],
    ['queue', '  '],
    ['queue', 7],
    ['queue', 'q'.repeat(256)],
    ['queue', 'a\0b'],
    ['queue', null],
    ['priority', 1.5],
    ['priority', '1'],
    ['priority', 2 ** 31],
    ['priority', -(2 ** 31) - 1],
    ['priority', NaN],
    ['wait', -1],
    ['wait', 'soon'],
    ['waitUntil', '2030-01-01'],
    ['waitUntil', 5],
    ['waitUntil', new Date(NaN)],
  ])('DEF-08 DEF-15 refuse %s %p', (key, value) => {
    expect(() => checkJobOptions({ [key]: value }, place)).toThrow(
      `OrderWorkflow, step "capture": "jobOptions.${key}" is `,
    );
    expect(() => checkJobOptions({ [key]: value }, place)).toThrow(/; allowed: .+\.$/s);
  });

  it.each([5, 'mail', [], null])('DEF-08 DEF-15 refuse %p in their place', (value) => {
    expect(() => checkJobOptions(value, place)).toThrow('"jobOptions" is ');
  });

  it('DEF-15 take the widest priorities and names', () => {
    expect(checkJobOptions({ priority: 2 ** 31 - 1, queue: 'q'.repeat(255) }, place).priority).toBe(2_147_483_647);
  });

  it("DEF-15 the step's keys override the class's key by key", () => {
    const merged = mergeJobOptions({ queue: 'orders', priority: 5 }, { priority: 1, wait: 10 });
    expect(merged).toEqual({ queue: 'orders', priority: 1, wait: 10 });
  });
});
