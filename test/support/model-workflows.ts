import {
  CancelIf,
  FanOut,
  OnException,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type BatchFailureAction,
  type Ctx,
  type FanOutBatch,
  type JobContext,
  type JobHandler,
  type LoadsSubject,
  type SignalMatcher,
  type StepContext,
  type TimeoutAction,
} from 'nestjs-pg-workflows';
import type { Ending, GuardAnswers, Thrown } from './model-commands';

/** In their order. `last` waits an hour, `two` may take five. */
export const STEP_NAMES = ['one', 'two', 'gate', 'fan', 'last'] as const;
export type StepName = (typeof STEP_NAMES)[number];

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

function classOf({ onTimeout, onBatchFailure, terminalAction, guarded }: Variant, index: number) {
  const name = `Model ${index}`;
  @Workflow({
    name,
    subject: Subject,
    onException: [
      { matching: Flaky, action: 'reattempt', maxReattempts: 2, terminalAction },
      { matching: 'Fatal', action: 'cancel' },
      { matching: Ignorable, action: 'skip' },
    ],
  })
  class Modelled extends WorkflowOf<Subject> {
    @Step()
    one(ctx: Ctx<this>) {
      return perform(ctx);
    }

    @Step({ timeout: '5 hours' })
    two(ctx: Ctx<this>) {
      return perform(ctx);
    }

    @Step({ waitFor: Fitting, skipIf: skips, ...(onTimeout && { waitTimeout: '1 hour', onTimeout }) })
    gate(ctx: StepContext) {
      return perform(ctx);
    }

    @FanOut({ onBatchFailure })
    fan(ctx: StepContext, batch: FanOutBatch) {
      return perform(ctx, batch);
    }

    @Step({ wait: '1 hour', transactional: guarded })
    last(ctx: Ctx<this>) {
      return perform(ctx);
    }

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

/** The class of each variant. */
export const MODELLED = VARIANTS.map(classOf);
export const MEMBER_JOB = Member.name;
export const MODEL_PROVIDERS = [...MODELLED, Member, Subjects];
