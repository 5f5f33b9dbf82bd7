import { defineSignal, fits, matcher, matcherName, toMatcher } from './signal.js';

class Dto {
  amount!: number;
}
const place = { owner: 'OrderWorkflow', step: 'capture' };
const paid = { name: 'paid', payload: { amount: 5 } };

describe('signals', () => {
  it('DEF-13 defineSignal gives a frozen value of name and payload class', () => {
    const Paid = defineSignal('paid', Dto);
    expect(Paid).toMatchObject({ name: 'paid', payload: Dto });
    expect(Object.isFrozen(Paid)).toBe(true);
    expect(defineSignal('paid').payload).toBeNull();
  });

  it.each(['', '  ', 'x'.repeat(256), 'a\0b', 5, undefined])('DEF-13 refuses a signal of the name %p', (name) => {
    expect(() => defineSignal(name as string)).toThrow(
      /^defineSignal: "name" is .+; allowed: text of 1 to 255 characters/,
    );
    expect(() => matcher(name as string, () => true)).toThrow(/^matcher: "name" is /);
  });

  it('DEF-13 refuses a payload that is no class, and a matcher without a function', () => {
    expect(() => defineSignal('paid', { amount: 1 } as never)).toThrow('defineSignal: "payload" is { amount: 1 }');
    expect(() => matcher('paid', 'yes' as never)).toThrow(
      'matcher: "accepts" is "yes"; allowed: a function of the payload.',
    );
  });

  it('SIG-15 a name takes signals of that name whatever the payload', () => {
    const byName = toMatcher('paid', place);
    expect(fits(byName, paid)).toBe(true);
    expect(fits(byName, { name: 'shipped', payload: {} })).toBe(false);
  });

  it('SIG-15 matcher(name, fn) needs the name and a truthy answer', () => {
    const large = matcher('paid', (payload: { amount: number }) => payload.amount > 9);
    expect(fits(large, paid)).toBe(false);
    expect(fits(large, { name: 'paid', payload: { amount: 10 } })).toBe(true);
    expect(fits(large, { name: 'other', payload: { amount: 10 } })).toBe(false);
  });

  it("SIG-15 an object's matches decides alone and sees name and payload", () => {
    const seen: unknown[] = [];
    const custom = toMatcher({ matches: (signal: unknown) => seen.push(signal) }, place);
    expect(fits(custom, paid)).toBe(true);
    expect(seen).toEqual([paid]);
  });

  it('SIG-16 an asynchronous matcher throws instead of taking everything', () => {
    const late = matcher('paid', (async () => false) as never);
    expect(() => fits(late, paid)).toThrow('Matcher "paid": matches() returned a promise; it must be synchronous.');
  });

  it.each(['', ' ', 5, null, {}, { matches: true }, () => true, []])('DEF-13 refuses to wait for %p', (waitFor) => {
    expect(() => toMatcher(waitFor, place)).toThrow(
      /^OrderWorkflow, step "capture": "waitFor" is .+; allowed: a signal's name/,
    );
  });

  it('DEF-13 a matcher is called by its name, else by its class', () => {
    class Refunds {
      matches() {
        return true;
      }
    }
    expect(matcherName(toMatcher('paid', place))).toBe('paid');
    expect(matcherName(new Refunds())).toBe('Refunds');
    expect(matcherName({ matches: () => true })).toBe('matcher');
  });
});
