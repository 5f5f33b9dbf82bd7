import {
  CancelIf,
  OnException,
  SubjectLoader,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  fanOut,
  removedStep,
  step,
  type BatchFailureAction,
  type FanOutBatch,
  type JobContext,
  type JobHandler,
  type LoadsSubject,
  type SignalMatcher,
  type StepContext,
  type TimeoutAction,
} from 'nestjs-pg-workflows';
type StepDeclaration = ReturnType<typeof step>;

import type { Ending, GuardAnswers, Thrown } from './model-commands';

/** In their order. `last` waits an hour, `two` may take five. */
export const STEP_NAMES = ['one', 'two', 'gate', 'fan', 'extra', 'last'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** What is not a step like any other from one release of the class to the next: a gravestone, or not declared. */
export type Release = Readonly<Partial<Record<StepName, 'removed' | 'undeclared'>>>;
export const RELEASES: readonly Release[] = [
  { extra: 'undeclared' },
  { two: 'removed', gate: 'removed', fan: 'removed' },
  { two: 'undeclared', gate: 'undeclared', fan: 'undeclared' },
];

/** What the classes differ in. */
export interface Variant {
  /** Of the step `gate`; null: it has no deadline. */
  readonly onTimeout: TimeoutAction | null;
  readonly onBatchFailure: BatchFailureAction;
  /** After two reattempts for `Flaky`. */
  readonly terminalAction: 'pause' | 'cancel' | 'skip';
  /** Has a cancel guard: no step is plain. Its last step is transactional, too. */
  readonly guarded: boolean;
}

export const VARIANTS: readonly Variant[] = [
  { onTimeout: 'pause', onBatchFailure: 'pause', terminalAction: 'pause', guarded: false },
  { onTimeout: 'cancel', onBatchFailure: 'cancel', terminalAction: 'cancel', guarded: true },
  { onTimeout: 'skip', onBatchFailure: 'skip', terminalAction: 'skip', guarded: false },
  { onTimeout: 'run', onBatchFailure: 'pause', terminalAction: 'skip', guarded: true },
  { onTimeout: 'notify', onBatchFailure: 'skip', terminalAction: 'pause', guarded: false },
  { onTimeout: null, onBatchFailure: 'cancel', terminalAction: 'cancel', guarded: false },
];

class Boom extends Error {}
class Flaky extends Error {}
class Fatal extends Error {}
class Ignorable extends Error {}
class Handled extends Error {
  constructor(readonly verb: Extract<Thrown, { error: 'Handled' }>['verb']) {
    super('handled');
  }
}

/** What the script of a sequence says: guards at a claim, and each body's end, once it comes. */
export interface Stage {
  guards: GuardAnswers;
  /** Awaited by the body of this attempt. */
  endingOf(attemptKey: string): Promise<Ending>;
  /** Awaited by this member. */
  memberEndingOf(id: string): Promise<{ fails: boolean }>;
}

let stage: Stage;

export function playOn(next: Stage): void {
  stage = next;
}

class Subject {
  constructor(readonly id: string) {}
}

@SubjectLoader(Subject)
class Subjects implements LoadsSubject<Subject> {
  async load(id: string) {
    return new Subject(id);
  }
}

export const SUBJECT = new Subject('one');

@WorkflowJob({ maxAttempts: 2, backoff: 0 })
class Member implements JobHandler {
  async perform(_args: unknown, { id }: JobContext) {
    const { fails } = await stage.memberEndingOf(id);
    if (fails) throw new Boom('member');
  }
}

function raise(thrown: Thrown): never {
  switch (thrown.error) {
    case 'Boom':
      throw new Boom('boom');
    case 'Flaky':
      throw new Flaky('flaky');
    case 'Fatal':
      throw new Fatal('fatal');
    case 'Ignorable':
      throw new Ignorable('ignorable');
    case 'Handled':
      throw new Handled(thrown.verb);
  }
}

async function perform(ctx: StepContext, batch?: FanOutBatch): Promise<void> {
  const ending = await stage.endingOf(ctx.attemptIdempotencyKey);
  if (batch) for (let member = 0; member < ending.members; member += 1) batch.add(Member, {});
  switch (ending.how) {
    case 'return':
      return;
    case 'throw':
      return raise(ending.thrown);
    case 'reattempt':
      return ctx.reattempt(ending.later ? { wait: '1 hour' } : undefined);
    case 'pause':
    case 'cancel':
    case 'skip':
    case 'finish':
      return ctx[ending.how]();
  }
}

/** Its name is no signal's: which pending signals may lie beside it only the model knows. */
const Fitting: SignalMatcher<{ is: string }> = {
  name: 'a go that fits',
  matches({ name, payload }) {
    if (name !== 'go') return false;
    if (payload.is === 'breaks the matcher') throw new Boom('matcher');
    return payload.is === 'fits';
  },
};

function skips(): boolean {
  const { throws, skip } = stage.guards;
  if (throws) raise(throws);
  return skip;
}

function stepsOf({ onTimeout, onBatchFailure, guarded }: Variant, release: Release) {
  const steps: Record<StepName, StepDeclaration> = {
    one: step('one', (ctx) => perform(ctx)),
    two: step('two', (ctx) => perform(ctx), { timeout: '5 hours' }),
    gate: step('gate', (ctx) => perform(ctx), {
      waitFor: Fitting,
      skipIf: skips,
      ...(onTimeout && { waitTimeout: '1 hour', onTimeout }),
    }),
    fan: fanOut('fan', perform, { onBatchFailure }),
    extra: step('extra', (ctx) => perform(ctx)),
    last: step('last', (ctx) => perform(ctx), { wait: '1 hour', transactional: guarded }),
  };
  return STEP_NAMES.filter((name) => release[name] !== 'undeclared').map((name) =>
    release[name] === 'removed' ? removedStep(name) : steps[name],
  );
}

function classOf(variant: Variant, name: string, release: Release) {
  const { terminalAction, guarded } = variant;
  @Workflow({
    name,
    subject: Subject,
    steps: stepsOf(variant, release),
    onException: [
      { matching: Flaky, action: 'reattempt', maxReattempts: 2, terminalAction },
      { matching: 'Fatal', action: 'cancel' },
      { matching: Ignorable, action: 'skip' },
    ],
  })
  class Modelled extends WorkflowOf<Subject> {
    @OnException(Handled)
    handle({ verb }: Handled, ctx: StepContext) {
      if (verb) ctx[verb]();
    }
  }
  if (!guarded) return Modelled;

  @Workflow({ name })
  class Guarded extends Modelled {
    @CancelIf()
    cancelled() {
      const { throws, cancel } = stage.guards;
      if (throws) raise(throws);
      return cancel;
    }
  }
  return Guarded;
}

/** The name of a variant's class, in every release. */
export function className(variant: number): string {
  return `Model ${variant}`;
}

/** The class of each variant, release by release. */
export const MODELLED = RELEASES.map((release) =>
  VARIANTS.map((variant, index) => classOf(variant, className(index), release)),
);
export const MEMBER_JOB = Member.name;

/** What an application of that release declares. */
export function providersOf(release: number) {
  return [...MODELLED[release], Member, Subjects];
}
