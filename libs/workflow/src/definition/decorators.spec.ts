import { WorkflowDefinitionError } from '../errors.js';
import type { JobContext, JobHandler } from './context.js';
import { definitionOf, hasStepDeclarations, jobOf, subjectLoaderOf } from './declarations.js';
import {
  CancelIf,
  FanOut,
  OnException,
  RemovedStep,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowJob,
} from './decorators.js';
import { jobBackoff } from './job.js';
import { fanOut, step } from './step.js';

const body = () => undefined;
type Legacy = (target: unknown, key: unknown, descriptor?: unknown) => void;
const memberDecorators: [string, () => Legacy][] = [
  ['Step', () => Step() as Legacy],
  ['FanOut', () => FanOut() as Legacy],
  ['RemovedStep', () => RemovedStep() as Legacy],
  ['CancelIf', () => CancelIf() as Legacy],
  ['OnException', () => OnException() as Legacy],
];
const classDecorators: [string, () => Legacy][] = [
  ['Workflow', () => Workflow() as Legacy],
  ['WorkflowJob', () => WorkflowJob() as Legacy],
  ['SubjectLoader', () => SubjectLoader(class Type {}) as Legacy],
];

describe('where decorators may stand', () => {
  it.each(memberDecorators)('DEF-25 @%s refuses a static member', (name, decorator) => {
    class OrderWorkflow {
      static reserve() {}
      capture() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(OrderWorkflow, 'reserve');
    expect(() => decorator()(OrderWorkflow, 'reserve', descriptor)).toThrow(
      `OrderWorkflow, step "reserve": @${name}() stands on a static member; remove "static"`,
    );
  });

  it('DEF-25 @Step refuses a static member as a compiler applies it', () => {
    expect(() => {
      class OrderWorkflow {
        @Step() static reserve() {}
        capture() {}
      }
      return OrderWorkflow;
    }).toThrow(WorkflowDefinitionError);
  });

  it.each(memberDecorators)(
    'DEF-25 @%s refuses to be a standard decorator, and says what to set',
    (name, decorator) => {
      const context = { kind: 'method', name: 'reserve', static: false, private: false };
      expect(() => decorator()(() => undefined, context)).toThrow(
        `Member "reserve": @${name}() was applied as a standard (stage 3) decorator; set "experimentalDecorators": true in tsconfig.json`,
      );
    },
  );

  it.each(classDecorators)('DEF-25 @%s refuses to be a standard decorator, and says what to set', (name, decorator) => {
    expect(() => decorator()(class OrderWorkflow {}, { kind: 'class', name: 'OrderWorkflow' })).toThrow(
      `OrderWorkflow: @${name}() was applied as a standard (stage 3) decorator; set "experimentalDecorators": true`,
    );
  });

  it.each(memberDecorators.filter(([name]) => name !== 'RemovedStep'))(
    'DEF-25 @%s refuses properties and accessors',
    (name, decorator) => {
      class OrderWorkflow {
        get reserve() {
          return 1;
        }
      }
      const accessor = Object.getOwnPropertyDescriptor(OrderWorkflow.prototype, 'reserve');
      for (const descriptor of [accessor, undefined]) {
        expect(() => decorator()(OrderWorkflow.prototype, 'reserve', descriptor)).toThrow(
          `OrderWorkflow, step "reserve": @${name}() stands on a property or an accessor; write it as a method.`,
        );
      }
    },
  );

  it.each(memberDecorators)('DEF-25 @%s refuses a member named by a symbol', (name, decorator) => {
    class OrderWorkflow {}
    expect(() => decorator()(OrderWorkflow.prototype, Symbol('s'), { value: () => undefined })).toThrow(
      `OrderWorkflow: @${name}() stands on the member Symbol(s)`,
    );
  });

  it.each([
    ['Step', Step],
    ['FanOut', FanOut],
    ['RemovedStep', RemovedStep],
    ['CancelIf', CancelIf],
    ['OnException', OnException],
  ])('DEF-25 @%s without parentheses is refused', (name, decorator) => {
    class OrderWorkflow {
      reserve() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(OrderWorkflow.prototype, 'reserve');
    expect(() => (decorator as unknown as Legacy)(OrderWorkflow.prototype, 'reserve', descriptor)).toThrow(
      `Member "reserve": @${name} stands without parentheses; write @${name}().`,
    );
  });

  it('DEF-25 @Workflow and @WorkflowJob without parentheses are refused', () => {
    class OrderWorkflow {}
    expect(() => Workflow(OrderWorkflow as never)).toThrow(
      'OrderWorkflow: @Workflow stands without parentheses; write @Workflow().',
    );
    expect(() => WorkflowJob(OrderWorkflow as never)).toThrow('write @WorkflowJob().');
  });

  it('DEF-25 a class decorator on a member is refused', () => {
    expect(() => (Workflow() as Legacy)({}, 'reserve')).toThrow(
      '@Workflow(): it stands on a member; put it on the class.',
    );
  });
});

describe('what decorators leave behind', () => {
  @Workflow()
  class OrderWorkflow {
    @Step() reserve() {}
  }
  class Child extends OrderWorkflow {}
  abstract class Base {
    @Step() reserve() {}
  }

  it('DEF-19 a definition is found on the very class', () => {
    expect(definitionOf(OrderWorkflow)).toMatchObject({ name: 'OrderWorkflow' });
    expect(definitionOf(Child)).toBeUndefined();
    expect(definitionOf(undefined)).toBeUndefined();
    expect(definitionOf('OrderWorkflow')).toBeUndefined();
  });

  it('DEF-19 steps are told of a class without @Workflow', () => {
    expect(hasStepDeclarations(Base)).toBe(true);
    expect(hasStepDeclarations(OrderWorkflow)).toBe(true);
    expect(hasStepDeclarations(Child)).toBe(false);
    expect(hasStepDeclarations(null)).toBe(false);
  });
});

describe('step() and fanOut()', () => {
  it('DEF-08 take the options last', () => {
    expect(step('a', body, { wait: 1 })).toMatchObject({ kind: 'step', name: 'a', body, options: { wait: 1 } });
    expect(step(body, { wait: 1 })).toMatchObject({ name: undefined, body, options: { wait: 1 } });
    expect(step('a', { wait: 1 })).toMatchObject({ name: 'a', body: undefined, options: { wait: 1 } });
    expect(() => (step as (...args: unknown[]) => unknown)('a', { wait: 1 }, body)).toThrow(
      'step("a", …): the body is { wait: 1 }; allowed: a function, with the options after it, or the options alone.',
    );
    expect(() => (fanOut as (...args: unknown[]) => unknown)('a', undefined, {})).toThrow(
      'fanOut("a", …): the body is undefined',
    );
  });
});

const build = (options: unknown) => {
  @WorkflowJob(options as never)
  class SendMail implements JobHandler {
    perform() {}
  }
  return jobOf(SendMail)!;
};

describe('@WorkflowJob', () => {
  @WorkflowJob()
  class NotifyVendor implements JobHandler<{ id: string }> {
    async perform(_args: { id: string }, _job: JobContext) {}
  }

  it('DEF-19 is found on its class, with its defaults', () => {
    expect(jobOf(NotifyVendor)).toEqual({
      name: 'NotifyVendor',
      target: NotifyVendor,
      queue: null,
      priority: 0,
      maxAttempts: 3,
      backoff: 10_000,
    });
    expect(Object.isFrozen(jobOf(NotifyVendor))).toBe(true);
    expect(jobOf(class extends NotifyVendor {})).toBeUndefined();
  });

  it('DEF-08 takes its options', () => {
    const job = build({
      name: 'mail',
      queue: 'mail',
      priority: 1,
      maxAttempts: 5,
      backoff: (tries: number) => tries * 100,
    });
    expect(job).toMatchObject({ name: 'mail', queue: 'mail', priority: 1, maxAttempts: 5 });
    expect([1, 2].map((tries) => jobBackoff(job, tries))).toEqual([100, 200]);
    expect(jobBackoff(build({ backoff: '2s' }), 7)).toBe(2_000);
    expect(() => jobBackoff(build({ backoff: () => 'soon' }), 1)).toThrow(
      'SendMail: "backoff(1)" is "soon"; allowed: a duration',
    );
  });

  it.each([
    ['name', ''],
    ['queue', 'a\0b'],
    ['priority', 0.5],
    ['maxAttempts', 0],
    ['maxAttempts', 1.5],
    ['backoff', 'soon'],
    ['backoff', -1],
  ])('DEF-08 refuses %s %p', (option, value) => {
    expect(() => build({ [option]: value })).toThrow(`SendMail: "${option}" is `);
  });

  it('DEF-09 refuses an option that does not exist', () => {
    expect(() => build({ retries: 5 })).toThrow(
      'SendMail: "retries" is 5, but a workflow job has no such option; allowed: name, queue, priority, maxAttempts, backoff.',
    );
  });

  it('DEF-08 refuses a class without perform', () => {
    expect(() => WorkflowJob()(class Idle {} as never)).toThrow(
      'Idle: @WorkflowJob() needs a method perform(args, job); write one.',
    );
  });
});

describe('@SubjectLoader', () => {
  class Customer {}

  it('STA-03 is found on its class', () => {
    @SubjectLoader(Customer)
    class CustomerLoader {
      async load(_id: string) {
        return new Customer();
      }
    }
    expect(subjectLoaderOf(CustomerLoader)).toEqual({ target: CustomerLoader, type: Customer });
  });

  it('DEF-08 refuses a type that is no class, and a class without load', () => {
    expect(() => SubjectLoader('Customer' as never)(class Loader {} as never)).toThrow(
      'Loader: "type" is "Customer"; allowed: ',
    );
    expect(() => SubjectLoader(Customer)(class Loader {} as never)).toThrow(
      'Loader: @SubjectLoader() needs a method load(id)',
    );
  });
});
