import { checkPolicies, handlerPolicy } from './policy-options.js';
import { DEFAULT_POLICY, policyWait, resolvePolicy, type ExceptionPolicy } from './policy.js';

const place = { owner: 'OrderWorkflow', step: 'capture' };

class GatewayError extends Error {}
class GatewayTimeout extends GatewayError {}
class Refused {}

const policies = (...written: unknown[]): readonly ExceptionPolicy[] => checkPolicies(written, place);
const resolve = (error: unknown, ofClass: unknown[], ofStep: unknown[] = []) =>
  resolvePolicy({ policies: policies(...ofClass) }, { policies: policies(...ofStep) }, error);

const waiting = (wait: unknown) => checkPolicies({ action: 'reattempt', wait }, place)[0]!;
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

describe('checks of a policy', () => {
  it('DEF-18 takes one policy or a list, and fills in the defaults', () => {
    const [policy] = checkPolicies({ action: 'reattempt' }, place);
    expect(policy).toEqual({
      kind: 'declared',
      matching: [],
      action: 'reattempt',
      wait: 0,
      maxReattempts: null,
      terminalAction: 'pause',
      report: 'always',
    });
    expect(Object.isFrozen(policy)).toBe(true);
    expect(checkPolicies([{ action: 'pause' }, { action: 'skip', matching: Error }], place)).toHaveLength(2);
    expect(checkPolicies(undefined, place)).toEqual([]);
  });

  it('DEF-18 takes classes and names in matching', () => {
    expect(policies({ action: 'skip', matching: Error })[0]?.matching).toEqual([Error]);
    expect(policies({ action: 'skip', matching: [Refused, 'CardDeclined'] })[0]?.matching).toEqual([
      Refused,
      'CardDeclined',
    ]);
  });

  it.each([
    ['action', 'explode', 'pause, cancel, skip, reattempt'],
    ['action', undefined, 'pause, cancel, skip, reattempt'],
    ['terminalAction', 'reattempt', 'pause, cancel, skip'],
    ['matching', 5, 'an error class'],
    ['matching', '', 'an error class'],
    ['matching', [], 'an error class'],
    ['matching', [Error, 5], 'an error class'],
    ['matching', () => true, 'an error class'],
    ['matching', new Error('an instance'), 'an error class'],
    ['wait', -1, 'a duration of 0 or more'],
    ['wait', 'soon', 'or a function that returns one'],
    ['maxReattempts', 0, 'a whole number of 1 or more'],
    ['maxReattempts', 1.5, 'a whole number of 1 or more'],
    ['maxReattempts', Infinity, 'a whole number of 1 or more'],
    ['maxReattempts', '3', 'a whole number of 1 or more'],
    ['report', 'sometimes', 'always, never, terminal_only'],
  ])('DEF-18 DEF-08 refuses %s %p', (key, value, allowed) => {
    const check = () => checkPolicies({ action: 'pause', [key]: value }, place);
    expect(check).toThrow(`OrderWorkflow, step "capture": "onException.${key}" is `);
    expect(check).toThrow(/; allowed: .+\.$/);
    expect(check).toThrow(allowed);
  });

  it('DEF-18 DEF-09 refuses an option that does not exist, and says which of a list', () => {
    expect(() => checkPolicies([{ action: 'pause' }, { action: 'pause', maxRetries: 3 }], place)).toThrow(
      'OrderWorkflow, step "capture": "onException[1].maxRetries" is 3, but a policy has no such option; allowed: matching, action, wait, maxReattempts, terminalAction, report.',
    );
  });

  it.each(['pause', null, 5, [['pause']]])('DEF-18 refuses %p as a policy', (value) => {
    expect(() => checkPolicies(value, place)).toThrow(/"onException(\[0\])?" is /);
  });
});

describe('resolvePolicy', () => {
  it('EXC-04 a class matches its subclasses', () => {
    const ofClass = [{ matching: GatewayError, action: 'cancel' }];
    expect(resolve(new GatewayTimeout(), ofClass)).toMatchObject({ action: 'cancel' });
    expect(resolve(new Error(), ofClass)).toBe(DEFAULT_POLICY);
  });

  it("EXC-04 a name matches along the prototype chain, and an error's own name", () => {
    const ofClass = [{ matching: 'GatewayError', action: 'cancel' }];
    expect(resolve(new GatewayTimeout(), ofClass)).toMatchObject({ action: 'cancel' });
    expect(resolve(Object.assign(new Error(), { name: 'GatewayError' }), ofClass)).toMatchObject({ action: 'cancel' });
    expect(resolve(new Error('GatewayError'), ofClass)).toBe(DEFAULT_POLICY);
  });

  it('EXC-04 a list matches any of its members', () => {
    const ofClass = [{ matching: ['CardDeclined', TypeError], action: 'skip' }];
    expect(resolve(new TypeError(), ofClass)).toMatchObject({ action: 'skip' });
    expect(resolve(new RangeError(), ofClass)).toBe(DEFAULT_POLICY);
  });

  it("EXC-05 the step's policies come first, even blanket before the class's fitting", () => {
    const ofClass = [{ matching: GatewayError, action: 'cancel' }];
    expect(resolve(new GatewayError(), ofClass, [{ action: 'skip' }])).toMatchObject({ action: 'skip' });
    expect(resolve(new GatewayError(), ofClass, [{ matching: 'Other', action: 'skip' }])).toMatchObject({
      action: 'cancel',
    });
  });

  it('EXC-05 a fitting one beats a blanket one declared above it', () => {
    const written = [{ action: 'pause' }, { matching: GatewayError, action: 'cancel' }];
    expect(resolve(new GatewayError(), written)).toMatchObject({ action: 'cancel' });
    expect(resolve(new GatewayError(), [], written)).toMatchObject({ action: 'cancel' });
    expect(resolve(new Error(), written)).toMatchObject({ action: 'pause', matching: [] });
  });

  it('EXC-05 without any, the run pauses', () => {
    expect(resolve(new Error(), [])).toMatchObject({ action: 'pause', report: 'always' });
  });

  it('AMB-20 among equals the first declared wins', () => {
    const written = [
      { matching: GatewayError, action: 'skip' },
      { matching: GatewayTimeout, action: 'cancel' },
    ];
    expect(resolve(new GatewayTimeout(), written)).toMatchObject({ action: 'skip' });
  });

  it.each([undefined, null, 'a string', 5, Symbol('s'), Object.create(null), { name: 7 }])(
    'EXC-05 a thrown %p goes to the blanket policies',
    (thrown) => {
      expect(resolve(thrown, [{ matching: [Error, 'Error'], action: 'skip' }, { action: 'cancel' }])).toMatchObject({
        action: 'cancel',
      });
    },
  );

  it('EXC-05 a thrown value that cannot be looked at goes to the blanket policies', () => {
    const hostile = Object.defineProperty({}, 'name', {
      get() {
        throw new Error('no');
      },
    });
    const written = [{ matching: [Error, 'Error'], action: 'skip' }, { action: 'cancel' }];
    expect(resolve(hostile, written)).toMatchObject({ action: 'cancel' });
    expect(resolve(revoked(), written)).toMatchObject({ action: 'cancel' });
  });

  it('EXC-12 a handler ranks by what it matches', () => {
    const blanket = handlerPolicy(undefined, 'any', place);
    const fitting = handlerPolicy(GatewayError, 'gateway', place);
    const definition = { policies: [blanket, fitting] };
    expect(resolvePolicy(definition, { policies: [] }, new GatewayTimeout())).toBe(fitting);
    expect(resolvePolicy(definition, { policies: [] }, 'text')).toBe(blanket);
  });
});

describe('policyWait', () => {
  it('EXC-06 is the duration, 0 without one', () => {
    expect(policyWait(waiting('30s'), 1, place)).toBe(30_000);
    expect(policyWait(waiting(undefined), 1, place)).toBe(0);
  });

  it('EXC-06 asks the function for each reattempt', () => {
    const doubling = waiting((number: number) => `${2 ** number}s`);
    expect([1, 2, 3].map((number) => policyWait(doubling, number, place))).toEqual([2_000, 4_000, 8_000]);
  });

  it.each([-1, NaN, 'soon', undefined, Promise.resolve(5)])('EXC-06 refuses the answer %p', (answer) => {
    expect(() =>
      policyWait(
        waiting(() => answer),
        2,
        place,
      ),
    ).toThrow(/^OrderWorkflow, step "capture": "onException.wait\(2\)" is .+; allowed: a duration of 0 or more/);
  });
});
