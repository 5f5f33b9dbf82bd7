import { WorkflowDefinitionError } from '../errors.js';
import { badOption, classLabel, definitionError, shown, unknownOption } from './definition-error.js';

const place = { owner: 'OrderWorkflow', step: 'capture' };

describe('messages of WorkflowDefinitionError', () => {
  it('DEF-08 name class, step, option, value given and values allowed', () => {
    const error = badOption(place, 'onTimeout', 'explode', ['pause', 'cancel', 'skip', 'run', 'notify']);
    expect(error).toBeInstanceOf(WorkflowDefinitionError);
    expect(error.code).toBe('WORKFLOW_DEFINITION');
    expect(error.message).toBe(
      'OrderWorkflow, step "capture": "onTimeout" is "explode"; allowed: pause, cancel, skip, run, notify.',
    );
  });

  it('DEF-09 name the option that does not exist and those that do', () => {
    expect(
      unknownOption({ owner: 'OrderWorkflow' }, 'jobOptions.que', 'mail', 'jobOptions', ['queue', 'wait']).message,
    ).toBe('OrderWorkflow: "jobOptions.que" is "mail", but jobOptions has no such option; allowed: queue, wait.');
  });

  it('DEF-08 take free text', () => {
    expect(definitionError(place, 'rename one.').message).toBe('OrderWorkflow, step "capture": rename one.');
    expect(classLabel(class {})).toBe('(anonymous class)');
  });

  it.each([
    ['a', '"a"'],
    ['line\nbreak\0', '"line\\nbreak\\u0000"'],
    [undefined, 'undefined'],
    [NaN, 'NaN'],
    [5n, '5n'],
    [Symbol('s'), 'Symbol(s)'],
    [class Order {}, '[class Order]'],
    [new Date(NaN), 'Invalid Date'],
    [{ a: { b: { c: 1 } } }, '{ a: { b: [Object] } }'],
  ])('DEF-08 show %p on one line', (value, expected) => {
    expect(shown(value)).toBe(expected);
  });

  it('DEF-08 show any value shortly and without throwing', () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no');
        },
        getPrototypeOf: () => {
          throw new Error('no');
        },
      },
    );
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const getter = {
      get boom(): never {
        throw new Error('no');
      },
      [Symbol.for('nodejs.util.inspect.custom')]() {
        throw new Error('no');
      },
    };
    for (const value of [
      hostile,
      cycle,
      getter,
      'x'.repeat(10_000),
      Array.from({ length: 10_000 }, () => 'y'),
      Object.create(null),
    ]) {
      expect(shown(value).length).toBeLessThanOrEqual(80);
    }
  });
});
