import { definitionOf } from './declarations.js';
import { CancelIf, OnException, Step, Workflow } from './decorators.js';
import type { WorkflowDefinition } from './definition.js';
import { resolvePolicy } from './policy.js';
import { removedStep, step } from './step.js';

const of = (target: unknown): WorkflowDefinition => definitionOf(target)!;
const names = (target: unknown): string[] => of(target).steps.map(({ name }) => name);
const nothing = () => undefined;

describe('a subclass', () => {
  class ParentError extends Error {}
  class Subject {}
  class Args {}

  @Workflow({
    name: 'parent',
    subject: Subject,
    args: Args,
    jobOptions: { queue: 'orders', priority: 5 },
    onException: { matching: ParentError, action: 'cancel' },
    steps: [step('listed', () => 'parent', { wait: 10 }), step(nothing)],
  })
  class Parent {
    @CancelIf() gone() {
      return false;
    }
    @Step({ wait: 5 }) one(): string {
      return 'parent';
    }
    @Step({ wait: 7 }) two(): string {
      return 'parent';
    }
    @OnException() failed() {}
  }
  const before = { names: names(Parent), digest: of(Parent).digest, policies: of(Parent).policies };

  @Workflow({
    jobOptions: { priority: 1 },
    onException: { matching: ParentError, action: 'skip' },
    steps: [step('listed', () => 'child'), step(nothing)],
  })
  class Child extends Parent {
    override one() {
      return 'child';
    }
    @Step() override two() {
      return 'child';
    }
    @CancelIf() override gone() {
      return true;
    }
    @CancelIf() late() {
      return false;
    }
    @Step({ jobOptions: { queue: 'mail' } }) three() {}
  }

  it("DEF-07 has its parent's steps, then its own; an override keeps the parent's place", () => {
    expect(names(Child)).toEqual(['one', 'two', 'listed', 'step_1', 'three', 'step_2']);
    const child = new Child();
    expect(of(Child).step('one')!.body(child)).toBe('child');
    expect(of(Child).step('two')!.body(child)).toBe('child');
    expect(of(Child).step('listed')!.body(child)).toBe('child');
  });

  it('DEF-07 a plain override keeps the options, one declared anew has its own', () => {
    expect(of(Child).step('one')!.wait).toBe(5);
    expect(of(Child).step('two')!.wait).toBe(0);
    expect(of(Child).step('listed')!.wait).toBe(0);
  });

  it("AMB-07 has its parent's cancel guards first, an overridden one once", () => {
    expect(of(Child).cancelGuards).toEqual(['gone', 'late']);
  });

  it("AMB-20 DEF-07 has its parent's policies after its own", () => {
    expect(of(Child).policies.map((policy) => (policy.kind === 'handler' ? policy.method : policy.action))).toEqual([
      'skip',
      'cancel',
      'failed',
    ]);
    expect(resolvePolicy(of(Child), of(Child).first, new ParentError())).toMatchObject({ action: 'skip' });
  });

  it("DEF-07 DEF-15 has its parent's job options, its own and a step's laid over them", () => {
    expect(of(Child).step('one')!.jobOptions).toEqual({ queue: 'orders', priority: 1 });
    expect(of(Child).step('three')!.jobOptions).toEqual({ queue: 'mail', priority: 1 });
    expect(of(Parent).first.jobOptions).toEqual({ queue: 'orders', priority: 5 });
  });

  it("DEF-07 has its parent's subject and args, and a name of its own", () => {
    expect(of(Child)).toMatchObject({ name: 'Child', subject: Subject, args: Args });
    expect(of(Parent).name).toBe('parent');
  });

  it('DEF-07 leaves its parent as it was', () => {
    expect(names(Parent)).toEqual(before.names);
    expect(of(Parent).digest).toBe(before.digest);
    expect(of(Parent).policies).toBe(before.policies);
    expect(of(Parent).cancelGuards).toEqual(['gone']);
    expect(of(Parent).step('one')!.body(new Parent())).toBe('parent');
  });

  it('DEF-07 takes the steps of a base class that is no workflow itself, over several generations', () => {
    abstract class Base {
      @Step() first() {}
    }
    class Middle extends Base {
      @Step() second() {}
    }
    @Workflow()
    class Last extends Middle {
      @Step() third() {}
    }
    expect(names(Last)).toEqual(['first', 'second', 'third']);
    expect(definitionOf(Middle)).toBeUndefined();
  });

  it('DEF-07 without a @Workflow of its own it is no workflow', () => {
    class Plain extends Parent {}
    expect(definitionOf(Plain)).toBeUndefined();
  });

  it('REN-03 may bury a step of its parent, which keeps its place', () => {
    @Workflow({ steps: [removedStep('one')] })
    class Buried extends Parent {}
    expect(names(Buried)[0]).toBe('one');
    expect(of(Buried).first.name).toBe('two');
  });

  it('EXC-12 a handler declared anew is there once, with its new matching', () => {
    @Workflow()
    class Stricter extends Parent {
      @OnException(ParentError) override failed() {}
    }
    expect(of(Stricter).policies.filter((policy) => policy.kind === 'handler')).toEqual([
      { kind: 'handler', method: 'failed', matching: [ParentError], report: 'always' },
    ]);
  });
});
