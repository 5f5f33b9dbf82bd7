import { createHash } from 'node:crypto';
import { WorkflowDefinitionError } from '../errors.js';
import { definitionOf } from './declarations.js';
import { CancelIf, FanOut, OnException, RemovedStep, Step, Workflow } from './decorators.js';
import type { WorkflowDefinition } from './definition.js';
import { resolvePolicy } from './policy.js';
import { fanOut, removedStep, step } from './step.js';

const of = (target: unknown): WorkflowDefinition => definitionOf(target)!;
const digest = (list: [string, string][]) => createHash('sha256').update(JSON.stringify(list)).digest('hex');
const nothing = () => undefined;

/** A class built with these steps. */
function built(...steps: unknown[]): WorkflowDefinition {
  @Workflow({ steps: steps as never })
  class OrderWorkflow {
    asked() {
      return true;
    }
  }
  return of(OrderWorkflow);
}

describe('forms of a step', () => {
  @Workflow({
    steps: [
      step('welcome', nothing),
      step(nothing),
      step('invoice'),
      fanOut('spread', nothing),
      removedStep('old'),
      step(nothing),
    ],
  })
  class Mixed {
    readonly seen: unknown[] = [];

    @Step()
    reserve(...args: unknown[]) {
      this.seen.push(args);
      return 'reserved';
    }

    @RemovedStep() reminder?: never;

    @FanOut()
    notify() {}

    invoice() {
      return 'invoiced';
    }
  }

  it('DEF-02 all may be mixed: decorated members first, in the order in which they stand, then the list', () => {
    expect(of(Mixed).steps.map(({ name, kind }) => [name, kind])).toEqual([
      ['reserve', 'step'],
      ['reminder', 'removed'],
      ['notify', 'fan_out'],
      ['welcome', 'step'],
      ['step_1', 'step'],
      ['invoice', 'step'],
      ['spread', 'fan_out'],
      ['old', 'removed'],
      ['step_2', 'step'],
    ]);
  });

  it('DEF-02 a body runs on the instance: a decorated method, a named method and a function', () => {
    const instance = new Mixed();
    expect(of(Mixed).step('reserve')!.body(instance, 'ctx', 'batch')).toBe('reserved');
    expect(instance.seen).toEqual([['ctx', 'batch']]);
    expect(of(Mixed).step('invoice')!.body(instance)).toBe('invoiced');
    const definition = built(step('self', function (this: unknown) { return this; })); // prettier-ignore
    expect(definition.first.body(instance)).toBe(instance);
  });

  it('DEF-02 a definition and all in it is frozen', () => {
    const definition = of(Mixed);
    for (const part of [definition, definition.steps, definition.policies, definition.cancelGuards, definition.first]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    expect(definition).toMatchObject({ name: 'Mixed', target: Mixed, subject: null, args: null });
  });

  it('REN-03 REN-04 REN-08 first and after pass over gravestones', () => {
    const definition = built(
      removedStep('a'),
      step('b', nothing),
      removedStep('c'),
      step('d', nothing),
      removedStep('e'),
    );
    expect(definition.first.name).toBe('b');
    expect(definition.after('a')).toBe(definition.step('b'));
    expect(definition.after('b')).toBe(definition.step('d'));
    expect(definition.after('c')).toBe(definition.step('d'));
    expect(definition.after('d')).toBeNull();
    expect(definition.after('e')).toBeNull();
    expect(definition.after('unknown')).toBeUndefined();
    expect(definition.step('unknown')).toBeUndefined();
    expect(() => definition.step('a')!.body({})).toThrow('a removed step has no body');
  });

  it.each([
    ['a step function', [() => undefined]],
    ['text', ['welcome']],
    ['a look-alike', [{ kind: 'step', name: 'a', body: nothing }]],
    ['no list', { steps: 1 }],
  ])('DEF-08 refuses %s in steps', (_what, steps) => {
    expect(() => {
      @Workflow({ steps: steps as never })
      class OrderWorkflow {}
      return OrderWorkflow;
    }).toThrow(/^OrderWorkflow: "steps" is .+; allowed: (a list of )?step\(\), fanOut\(\) and removedStep\(\)\.$/);
  });

  it('DEF-02 refuses a class without a step to run', () => {
    expect(() => built()).toThrow('OrderWorkflow: a workflow needs at least one step to run');
    expect(() => built(removedStep('gone'))).toThrow('OrderWorkflow: a workflow needs at least one step to run');
  });

  it.each(['', ' ', 'x'.repeat(256), 'a\0b', 5, null])('STA-26 DEF-08 refuses the step name %p', (name) => {
    expect(() => built(step('a', nothing), step(name as never, nothing))).toThrow(
      /^OrderWorkflow: "name of step 2" is .+; allowed: text of 1 to 255 characters/,
    );
  });

  it('DEF-08 refuses a gravestone and a method form without a name', () => {
    expect(() => built(removedStep(undefined as never))).toThrow('"name of step 1" is undefined');
    expect(() => built(step(undefined as never))).toThrow('"name of step 1" is undefined');
    expect(() => built(fanOut(undefined as never, nothing))).toThrow('"name of step 1" is undefined');
  });
});

describe('methods given by name', () => {
  it('DEF-04 refuses a step without a method or a function', () => {
    expect(() => built(step('x'))).toThrow(WorkflowDefinitionError);
    expect(() => built(step('x'))).toThrow('OrderWorkflow, step "x": there is no method "x" in the class');
    expect(() => built(fanOut('x'))).toThrow('OrderWorkflow, step "x": there is no method "x" in the class');
    expect(() => built(step('toString'))).toThrow('there is no method "toString"');
    expect(() => built(step('constructor'))).toThrow('there is no method "constructor"');
  });

  it('DEF-04 refuses a skipIf or waitTimeout that the class has no method for', () => {
    expect(() => built(step('a', nothing, { skipIf: 'missing' }))).toThrow(
      'OrderWorkflow, step "a": "skipIf" is "missing"; allowed: a function of the context, or the name of a method of the class.',
    );
    expect(() => built(step('a', nothing, { waitFor: 'paid', waitTimeout: 'missing' }))).toThrow(
      /^OrderWorkflow, step "a": "waitTimeout" is "missing"; allowed: a duration of more than 0.+, or the name of a method of the class\.$/,
    );
    expect(() => built(step('a', nothing, { skipIf: true as never }))).toThrow('"skipIf" is true; allowed: ');
  });

  it('DEF-04 takes methods of the class, inherited ones too, and functions', () => {
    class Base {
      inherited() {
        return false;
      }
    }
    @Workflow({ steps: [step('a', nothing, { skipIf: 'inherited' }), step('inherited')] })
    class Child extends Base {}
    expect(of(Child).first.skipIf).toBe('inherited');
    expect(built(step('a', nothing, { skipIf: nothing })).first.skipIf).toBe(nothing);
    expect(built(step('a', nothing, { waitFor: 'paid', waitTimeout: 'asked' })).first.waitTimeout).toBe('asked');
  });

  it('DEF-04 does not run getters to find out', () => {
    expect(() => {
      @Workflow({ steps: [step('boom')] })
      class Getter {
        get boom(): never {
          throw new Error('was run');
        }
      }
      return Getter;
    }).toThrow('there is no method "boom"');
  });
});

describe('policies of the class', () => {
  it('EXC-12 @OnException methods rank after the list, a named one among the fitting, one without a class as blanket', () => {
    @Workflow({ onException: [{ action: 'skip' }, { matching: RangeError, action: 'cancel' }] })
    class Handled {
      @Step() a() {}
      @OnException(TypeError) typed() {}
      @OnException() any() {}
      @OnException(['CardDeclined', RangeError]) listed() {}
    }
    const resolved = (error: unknown) => resolvePolicy(of(Handled), of(Handled).first, error);
    expect(resolved(new TypeError())).toMatchObject({ kind: 'handler', method: 'typed' });
    expect(resolved(new RangeError())).toMatchObject({ action: 'cancel' });
    expect(resolved(Object.assign(new Error(), { name: 'CardDeclined' }))).toMatchObject({ method: 'listed' });
    expect(resolved(new Error())).toMatchObject({ action: 'skip', matching: [] });
  });

  it('DEF-18 refuses an @OnException that matches nothing', () => {
    expect(() => {
      @Workflow()
      class OrderWorkflow {
        @Step() a() {}
        @OnException(5 as never) typed() {}
      }
      return OrderWorkflow;
    }).toThrow('OrderWorkflow: "@OnException on "typed"" is 5; allowed: an error class');
  });
});

describe('definition_digest', () => {
  it('REN-06 is the SHA-256 of the ordered list of steps', () => {
    const definition = built(step('a', nothing), removedStep('b'), fanOut('c', nothing));
    expect(definition.digest).toBe(digest([['a', 'step'], ['b', 'removed'], ['c', 'fan_out']])); // prettier-ignore
  });

  it('REN-06 differs after adding, removing, renaming, reordering and burying, not after changing options', () => {
    const base = built(step('a', nothing), step('b', nothing)).digest;
    const others = [
      built(step('a', nothing), step('b', nothing), step('c', nothing)),
      built(step('a', nothing)),
      built(step('a', nothing), step('x', nothing)),
      built(step('b', nothing), step('a', nothing)),
      built(step('a', nothing), removedStep('b')),
    ].map((definition) => definition.digest);
    expect(new Set([base, ...others]).size).toBe(6);
    expect(
      built(
        step('a', () => 'other', { wait: 5 }),
        step('b', nothing),
      ).digest,
    ).toBe(base);
  });
});

describe('a plain step', () => {
  it('has no guard and no gate', () => {
    const definition = built(
      step('plain', nothing, { wait: 5, timeout: 5, onException: { action: 'skip' } }),
      step('skipped', nothing, { skipIf: nothing }),
      step('waiting', nothing, { waitFor: 'paid' }),
      step('transactional', nothing, { transactional: true }),
      step('untransactional', nothing, { transactional: false }),
      fanOut('fanned', nothing),
      removedStep('removed'),
    );
    const plain = ['plain', 'transactional', 'untransactional', 'fanned'];
    expect(definition.steps.filter((one) => one.plain).map(({ name }) => name)).toEqual(plain);
    expect(definition.steps.filter((one) => one.gated).map(({ name }) => name)).toEqual(['waiting']);
  });

  it('is none in a class with a cancel guard', () => {
    @Workflow()
    class Guarded {
      @Step({ waitFor: 'paid' }) a() {}
      @CancelIf() gone() {
        return false;
      }
    }
    expect(of(Guarded).first).toMatchObject({ plain: false, gated: false });
  });
});

describe('bodies and names that could not run', () => {
  it('DEF-08 refuses a generator as a body: calling it would run nothing of it', () => {
    expect(() => {
      @Workflow()
      class Generates {
        @Step() *one() {}
      }
      return Generates;
    }).toThrow('Generates, step "one": its body is a generator (function*)');
    expect(() => Workflow({ steps: [step('one', async function* () {} as never)] })(class Listed {})).toThrow(
      'Listed, step "one": its body is a generator (function*)',
    );
  });

  it('STA-26 refuses half a surrogate pair in a name: the database would store another one', () => {
    expect(() => Workflow({ name: 'L\ud800', steps: [step('one', async () => {})] })(class Half {})).toThrow(
      '"name" is',
    );
    expect(() => Workflow({ steps: [step('a\ud800', async () => {})] })(class HalfStep {})).toThrow(
      WorkflowDefinitionError,
    );
  });
});
