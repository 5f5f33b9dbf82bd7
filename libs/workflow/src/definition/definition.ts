import type { ParsedJobOptions } from './job-options.js';
import type { ExceptionPolicy } from './policy.js';
import type { Callable } from './callable.js';
import type { SignalMatcher } from './signal.js';

/** What a wait's deadline does: see `StepOptions.onTimeout`. */
export type TimeoutAction = 'pause' | 'cancel' | 'skip' | 'run' | 'notify';

/** What a fan-out with dead-lettered members does. */
export type BatchFailureAction = 'pause' | 'cancel' | 'skip';

/** One step of a workflow class, checked and frozen. Durations are in milliseconds. */
export interface StepDefinition {
  readonly name: string;
  /** `removed` is a gravestone: runs still on it pass over it. */
  readonly kind: 'step' | 'fan_out' | 'removed';
  /** Calls the body on an instance of the class. Never called for a gravestone. */
  readonly body: (instance: object, ...args: unknown[]) => unknown;
  /** After the end of the step before, or the start of the run. */
  readonly wait: number;
  /** Bounds the body from its claim; null: the setting `stallThreshold` does. */
  readonly timeout: number | null;
  readonly skipIf: Callable | null;
  /** The class's options with the step's laid over them, key by key. */
  readonly jobOptions: Readonly<ParsedJobOptions>;
  /** The step's own exception policies, in declared order. */
  readonly policies: readonly ExceptionPolicy[];
  readonly waitFor: SignalMatcher | null;
  /** Milliseconds from the park, or a callable asked at each park. */
  readonly waitTimeout: number | Callable | null;
  readonly onTimeout: TimeoutAction;
  readonly transactional: boolean;
  readonly onBatchFailure: BatchFailureAction;
  /** Nobody is asked before its body runs, no guard and no gate: it may be claimed in sets, and gone on with in place. */
  readonly plain: boolean;
  /** Only its gate is asked: once a signal woke its row it may be claimed as a plain one. */
  readonly gated: boolean;
}

/** All that a workflow class says, immutable: one a class. */
export interface WorkflowDefinition {
  /** What the tables store. */
  readonly name: string;
  readonly target: WorkflowClass;
  /** In the order in which they run, gravestones included. */
  readonly steps: readonly StepDefinition[];
  /** Parent's first, then the class's, in declared order. */
  readonly cancelGuards: readonly Callable[];
  /** The class's exception policies: a subclass's before its parent's; declared order within each. */
  readonly policies: readonly ExceptionPolicy[];
  /** The entity class (or type with a `@SubjectLoader`) of its subjects; null: not declared. */
  readonly subject: (abstract new (...args: never[]) => unknown) | null;
  /** class-validator DTO of the arguments of `start`. */
  readonly args: (new () => object) | null;
  /** SHA-256, hex, of the ordered list of steps. */
  readonly digest: string;
  /** The step of that name, gravestones included. */
  step(name: string): StepDefinition | undefined;
  /** The first step that a new run executes: gravestones are passed over. */
  readonly first: StepDefinition;
  /** The step to run after `name` (gravestones passed over), null after the last; undefined when `name` is not declared. */
  after(name: string): StepDefinition | null | undefined;
}

/** A class decorated with `@Workflow()`. */
export type WorkflowClass<W = object> = abstract new (...args: never[]) => W;
