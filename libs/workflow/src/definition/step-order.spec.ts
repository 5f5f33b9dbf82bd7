import { definitionOf } from './declarations.js';
import { FanOut, Step, Workflow } from './decorators.js';
import type { WorkflowDefinition } from './definition.js';
import { fanOut, removedStep, step } from './step.js';

const of = (target: unknown): WorkflowDefinition => definitionOf(target)!;
const names = (target: unknown): string[] => of(target).steps.map(({ name }) => name);
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

const order = (...steps: unknown[]): string[] => built(...steps).steps.map(({ name }) => name);

describe('anonymous steps', () => {
  it('DEF-03 AMB-25 anonymous steps are numbered by their rank among anonymous ones', () => {
    const definition = built(step('a', nothing), step(nothing), step('b', nothing), step(nothing, { before: 'a' }));
    expect(definition.steps.map(({ name }) => name)).toEqual(['step_2', 'a', 'step_1', 'b']);
  });
});

describe('two steps of one name', () => {
  it('DEF-05 refuses them, a gravestone included', () => {
    const message = 'OrderWorkflow, step "a": two steps have this name (a removed step keeps its own); rename one.';
    expect(() => built(step('a', nothing), step('a', nothing))).toThrow(message);
    expect(() => built(step('a', nothing), removedStep('a'))).toThrow(message);
    expect(() => built(removedStep('a'), fanOut('a', nothing))).toThrow(message);
    expect(() => built(step(nothing), step('step_1', nothing))).toThrow('two steps have this name');
  });

  it('DEF-05 refuses them between members and list, and on one member', () => {
    expect(() => {
      @Workflow({ steps: [step('reserve', nothing)] })
      class OrderWorkflow {
        @Step() reserve() {}
      }
      return OrderWorkflow;
    }).toThrow('OrderWorkflow, step "reserve": two steps have this name');
    expect(() => {
      @Workflow()
      class OrderWorkflow {
        @Step() @FanOut() reserve() {}
      }
      return OrderWorkflow;
    }).toThrow('OrderWorkflow, step "reserve": two steps have this name');
  });

  it("DEF-05 refuses an anonymous step whose number is a parent's name", () => {
    @Workflow({ steps: [step('step_1', nothing)] })
    class Parent {}
    expect(() => {
      @Workflow({ steps: [step(nothing)] })
      class Child extends Parent {}
      return Child;
    }).toThrow('Child, step "step_1": two steps have this name');
  });
});

describe('before and after', () => {
  it('DEF-06 put the step directly before or after another', () => {
    expect(order(step('a', nothing), step('b', nothing), step('c', nothing, { before: 'b' }))).toEqual(['a', 'c', 'b']);
    expect(order(step('a', nothing, { after: 'b' }), step('b', nothing), step('c', nothing))).toEqual(['b', 'a', 'c']);
    expect(order(step('a', nothing), removedStep('b'), step('c', nothing, { before: 'b' }))).toEqual(['a', 'c', 'b']);
    expect(order(step('a', nothing), fanOut('b', nothing, { before: 'a' }))).toEqual(['b', 'a']);
  });

  it('DEF-06 keep the declared order of several at one spot, and chains together', () => {
    expect(
      order(
        step('x', nothing),
        step('y', nothing),
        step('a', nothing, { after: 'x' }),
        step('b', nothing, { after: 'x' }),
      ),
    ).toEqual(['x', 'a', 'b', 'y']);
    expect(order(step('x', nothing), step('a', nothing, { before: 'x' }), step('b', nothing, { before: 'x' }))).toEqual(
      ['a', 'b', 'x'],
    );
    expect(
      order(
        step('b', nothing, { after: 'a' }),
        step('x', nothing),
        step('y', nothing),
        step('a', nothing, { after: 'x' }),
      ),
    ).toEqual(['x', 'a', 'b', 'y']);
  });

  it('DEF-06 name inherited steps too, and leave the parent as it is', () => {
    @Workflow({ steps: [step('a', nothing), step('b', nothing)] })
    class Parent {}
    @Workflow({ steps: [step('c', nothing, { after: 'a' }), step('d', nothing, { before: 'a' })] })
    class Child extends Parent {}
    expect(names(Child)).toEqual(['d', 'a', 'c', 'b']);
    expect(names(Parent)).toEqual(['a', 'b']);
  });

  it('DEF-06 refuse an unknown step, the step itself, both at once and a circle', () => {
    expect(() => built(step('a', nothing), step('b', nothing, { before: 'x' }))).toThrow(
      'OrderWorkflow, step "b": "before" is "x"; allowed: a.',
    );
    expect(() => built(step('a', nothing), step('b', nothing, { after: 'b' }))).toThrow('"after" is "b"; allowed: a.');
    expect(() => built(step('a', nothing, { after: 5 as never }))).toThrow(
      '"after" is 5; allowed: the name of another step',
    );
    expect(() => built(step('a', nothing), step('b', nothing, { before: 'a', after: 'a' }))).toThrow(
      'OrderWorkflow, step "b": "before" and "after" are both given ("a" and "a"); allowed: one of them.',
    );
    expect(() =>
      built(step('x', nothing), step('a', nothing, { after: 'b' }), step('b', nothing, { after: 'a' })),
    ).toThrow('OrderWorkflow, step "a": "before" and "after" of these steps go in a circle');
  });
});
