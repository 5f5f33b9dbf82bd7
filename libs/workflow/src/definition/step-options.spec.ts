import { WorkflowDefinitionError } from '../errors.js';
import { definitionOf } from './declarations.js';
import { FanOut, Step, Workflow } from './decorators.js';
import type { StepDefinition } from './definition.js';
import { defineSignal, matcher } from './signal.js';
import { fanOut, step } from './step.js';

const nothing = () => undefined;
const Paid = defineSignal<{ amount: number }>('paid');

function buildStep(options: unknown): StepDefinition {
  @Workflow()
  class OrderWorkflow {
    @Step(options as never) capture() {}
  }
  return definitionOf(OrderWorkflow)!.first;
}

function buildFanOut(options: unknown): StepDefinition {
  @Workflow()
  class OrderWorkflow {
    @FanOut(options as never) capture() {}
  }
  return definitionOf(OrderWorkflow)!.first;
}

function buildClass(options: unknown) {
  @Workflow(options as never)
  class OrderWorkflow {
    @Step() capture() {}
  }
  return definitionOf(OrderWorkflow)!;
}

const forms: [string, (options: unknown) => StepDefinition][] = [
  ['@Step', buildStep],
  ['@FanOut', buildFanOut],
  ['step(name, fn)', (options) => listed(step('capture', nothing, options as never))],
  ['step(name)', (options) => listed(step('capture', options as never))],
  ['fanOut(name, fn)', (options) => listed(fanOut('capture', nothing, options as never))],
];

function listed(declaration: ReturnType<typeof step>): StepDefinition {
  @Workflow({ steps: [declaration] })
  class OrderWorkflow {
    capture() {}
  }
  return definitionOf(OrderWorkflow)!.first;
}

describe.each(forms)('options of %s', (_form, build) => {
  it('DEF-10 default to none', () => {
    expect(build(undefined)).toMatchObject({
      wait: 0,
      timeout: null,
      skipIf: null,
      jobOptions: {},
      policies: [],
      waitFor: null,
      waitTimeout: null,
      onTimeout: 'pause',
      transactional: false,
      onBatchFailure: 'pause',
    });
  });

  it('DEF-10 DEF-14 are taken, with durations in milliseconds', () => {
    const definition = build({
      wait: '2 days',
      timeout: 30_000,
      skipIf: nothing,
      jobOptions: { queue: 'mail', wait: '1s' },
      onException: { action: 'skip' },
    });
    expect(definition).toMatchObject({
      wait: 172_800_000,
      timeout: 30_000,
      skipIf: nothing,
      jobOptions: { queue: 'mail', wait: 1_000 },
      policies: [{ action: 'skip' }],
    });
  });

  it.each([
    ['wait', -1],
    ['wait', NaN],
    ['wait', Infinity],
    ['wait', 'soon'],
    ['wait', null],
    ['timeout', 0],
    ['timeout', '0s'],
    ['timeout', -5],
    ['timeout', 'soon'],
    ['skipIf', 5],
    ['skipIf', 'missing'],
    ['jobOptions', 5],
    ['onException', 'pause'],
    ['before', 'missing'],
    ['after', 'missing'],
  ])('DEF-08 DEF-10 refuse %s %p', (option, value) => {
    const check = () => build({ [option]: value });
    expect(check).toThrow(WorkflowDefinitionError);
    expect(check).toThrow(`OrderWorkflow, step "capture": "${option}" is `);
    expect(check).toThrow(/; allowed: .+\.$/);
  });

  it('DEF-10 take a wait of 0', () => {
    expect(build({ wait: 0 }).wait).toBe(0);
  });

  it('DEF-09 refuse a key that does not exist', () => {
    expect(() => build({ onTimout: 'pause' })).toThrow(
      /^OrderWorkflow, step "capture": "onTimout" is "pause", but a (step|fan-out) has no such option; allowed: wait, skipIf, timeout, /,
    );
    expect(() => build({ jobOptions: { lane: 1 } })).toThrow(
      '"jobOptions.lane" is 1, but jobOptions has no such option',
    );
    expect(() => build({ onException: { action: 'pause', retries: 1 } })).toThrow(
      '"onException.retries" is 1, but a policy has no such',
    );
  });

  it.each([5, 'wait', [], null])('DEF-08 refuse %p as options', (options) => {
    expect(() => build(options)).toThrow('OrderWorkflow, step "capture": "options" is ');
  });
});

describe('waiting for a signal', () => {
  it.each([['paid'], [Paid], [matcher('paid', nothing as never)], [{ matches: () => true }]])(
    'DEF-13 takes %p',
    (waitFor) => {
      expect(buildStep({ waitFor }).waitFor).toMatchObject({ matches: expect.any(Function) });
    },
  );

  it.each(['', 5, null, {}, true])('DEF-13 refuses %p', (waitFor) => {
    expect(() => buildStep({ waitFor })).toThrow(
      /^OrderWorkflow, step "capture": "waitFor" is .+; allowed: a signal's name/,
    );
  });

  it('DEF-10 WAIT-12 takes a duration, a function and a method as waitTimeout', () => {
    expect(buildStep({ waitFor: Paid, waitTimeout: '2 days' }).waitTimeout).toBe(172_800_000);
    expect(buildStep({ waitFor: Paid, waitTimeout: nothing }).waitTimeout).toBe(nothing);
    expect(buildStep({ waitFor: Paid, waitTimeout: 'capture' }).waitTimeout).toBe('capture');
  });

  it.each([0, '0s', -1, NaN, Infinity, 'soon', true, new Date()])(
    'DEF-10 refuses the waitTimeout %p',
    (waitTimeout) => {
      expect(() => buildStep({ waitFor: Paid, waitTimeout })).toThrow(
        /^OrderWorkflow, step "capture": "waitTimeout" is .+; allowed: a duration of more than 0/,
      );
    },
  );

  it.each(['pause', 'cancel', 'skip', 'run', 'notify'])('DEF-12 takes onTimeout %p', (onTimeout) => {
    expect(buildStep({ waitFor: Paid, waitTimeout: 5, onTimeout }).onTimeout).toBe(onTimeout);
  });

  it.each(['explode', null, 5, 'PAUSE'])('DEF-12 refuses onTimeout %p', (onTimeout) => {
    expect(() => buildStep({ waitFor: Paid, waitTimeout: 5, onTimeout })).toThrow(
      /^OrderWorkflow, step "capture": "onTimeout" is .+; allowed: pause, cancel, skip, run, notify\.$/,
    );
  });

  it('DEF-11 refuses waitTimeout and onTimeout where they would do nothing', () => {
    expect(() => buildStep({ waitTimeout: '2 days' })).toThrow(
      'OrderWorkflow, step "capture": "waitTimeout" is "2 days"; allowed: only together with "waitFor".',
    );
    expect(() => buildStep({ onTimeout: 'pause' })).toThrow(
      '"onTimeout" is "pause"; allowed: only together with "waitFor" and "waitTimeout".',
    );
    expect(() => buildStep({ waitFor: Paid, onTimeout: 'pause' })).toThrow(
      '"onTimeout" is "pause"; allowed: only together with "waitTimeout".',
    );
  });
});

describe('fan-outs', () => {
  it.each([
    ['waitFor', 'paid'],
    ['waitTimeout', 5],
    ['onTimeout', 'pause'],
  ])('DEF-14 refuse %s', (option, value) => {
    for (const build of [buildFanOut, (options: unknown) => listed(fanOut('capture', nothing, options as never))]) {
      expect(() => build({ [option]: value })).toThrow(
        new RegExp(
          `^OrderWorkflow, step "capture": "${option}" is .+, but a fan-out has no such option; allowed: wait, .*onBatchFailure\\.$`,
        ),
      );
    }
  });

  it('DEF-14 take transactional: what the body writes commits with its members', () => {
    expect(buildFanOut({ transactional: true }).transactional).toBe(true);
  });

  it.each(['pause', 'cancel', 'skip'])('DEF-14 take onBatchFailure %p', (onBatchFailure) => {
    expect(buildFanOut({ onBatchFailure }).onBatchFailure).toBe(onBatchFailure);
  });

  it.each(['run', 'reattempt', null, true])('DEF-14 refuse onBatchFailure %p', (onBatchFailure) => {
    expect(() => buildFanOut({ onBatchFailure })).toThrow(
      /^OrderWorkflow, step "capture": "onBatchFailure" is .+; allowed: pause, cancel, skip\.$/,
    );
  });

  it('DEF-14 a plain step has no onBatchFailure', () => {
    expect(() => buildStep({ onBatchFailure: 'pause' })).toThrow(
      'OrderWorkflow, step "capture": "onBatchFailure" is "pause", but a step has no such option',
    );
  });
});

describe('transactional', () => {
  it('DEF-08 is true or false', () => {
    expect(buildStep({ transactional: true })).toMatchObject({ transactional: true, plain: true });
    expect(() => buildStep({ transactional: 'yes' })).toThrow('"transactional" is "yes"; allowed: true, false.');
  });
});

describe('options of @Workflow', () => {
  class Subject {}

  it('DEF-07 take name, subject and args', () => {
    expect(buildClass({ name: 'orders', subject: Subject, args: Subject })).toMatchObject({
      name: 'orders',
      subject: Subject,
      args: Subject,
    });
  });

  it('DEF-15 DEF-16 lay the jobOptions of a step over those of the class, key by key', () => {
    @Workflow({ jobOptions: { queue: 'orders', priority: 5, wait: '1s' } })
    class Orders {
      @Step() a() {}
      @Step({ jobOptions: { priority: 1, wait: undefined } }) b() {}
    }
    const [a, b] = definitionOf(Orders)!.steps;
    expect(a?.jobOptions).toEqual({ queue: 'orders', priority: 5, wait: 1_000 });
    expect(b?.jobOptions).toEqual({ queue: 'orders', priority: 1, wait: 1_000 });
  });

  it.each([
    ['name', ''],
    ['name', 'x'.repeat(256)],
    ['name', 'a\0b'],
    ['name', 5],
    ['subject', 'Order'],
    ['subject', {}],
    ['args', {}],
    ['args', 5],
    ['jobOptions', []],
    ['onException', 5],
    ['steps', {}],
  ])('DEF-08 refuse %s %p', (option, value) => {
    const check = () => buildClass({ [option]: value });
    expect(check).toThrow(`OrderWorkflow: "${option}" is `);
    expect(check).toThrow(/; allowed: .+\.$/);
  });

  it('DEF-18 DEF-09 check the policies and job options of the class', () => {
    expect(() => buildClass({ onException: [{ action: 'explode' }] })).toThrow(
      'OrderWorkflow: "onException[0].action" is "explode"; allowed: pause, cancel, skip, reattempt.',
    );
    expect(() => buildClass({ jobOptions: { que: 'x' } })).toThrow('OrderWorkflow: "jobOptions.que" is "x"');
  });

  it('DEF-09 refuse a key that does not exist', () => {
    expect(() => buildClass({ title: 'x' })).toThrow(
      'OrderWorkflow: "title" is "x", but a workflow has no such option; allowed: name, subject, args, onException, jobOptions, steps.',
    );
  });

  it.each([5, 'OrderWorkflow', [], null])('DEF-08 refuse %p as options', (options) => {
    expect(() => buildClass(options)).toThrow('OrderWorkflow: "options" is ');
  });
});
