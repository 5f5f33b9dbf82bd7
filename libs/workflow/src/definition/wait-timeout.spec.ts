import { toDeadline } from './wait-timeout.js';

const place = { owner: 'OrderWorkflow', step: 'capture' };
const moment = new Date('2030-01-01T00:00:00Z');

describe('toDeadline', () => {
  it('WAIT-13 AMB-11 takes a Date and date-like objects as the moment', () => {
    expect(toDeadline(moment, place)).toEqual({ at: moment });
    expect(toDeadline({ toDate: () => moment }, place)).toEqual({ at: moment });
    expect(toDeadline({ toJSDate: () => moment }, place)).toEqual({ at: moment });
  });

  it('WAIT-14 takes a moment that is over', () => {
    expect(toDeadline(new Date(0), place)).toEqual({ at: new Date(0) });
  });

  it('WAIT-15 takes a duration from the park', () => {
    expect(toDeadline('2 days', place)).toEqual({ after: 172_800_000 });
    expect(toDeadline(1, place)).toEqual({ after: 1 });
  });

  it('WAIT-16 takes null and undefined as no deadline', () => {
    expect(toDeadline(null, place)).toBeNull();
    expect(toDeadline(undefined, place)).toBeNull();
  });

  it.each([0, -1, '0s', NaN, true, '2030-01-01T00:00:00Z', {}, [], new Date(NaN), { toDate: () => 'x' }])(
    'WAIT-17 AMB-12 refuses %p',
    (answer) => {
      expect(() => toDeadline(answer, place)).toThrow(
        /^OrderWorkflow, step "capture": "waitTimeout" is .+; allowed: a valid Date/,
      );
    },
  );
});
