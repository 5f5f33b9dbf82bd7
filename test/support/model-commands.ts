import { array, boolean, constant, constantFrom, nat, oneof, record, tuple, type Arbitrary } from 'fast-check';
import type { StallAction } from 'nestjs-pg-workflows';
import { RELEASES, STEP_NAMES, VARIANTS, type StepName } from './model-workflows';

/** What a body throws, and the verb that the handler of `Handled` calls for it. */
export type Thrown =
  | { readonly error: 'Boom' | 'Flaky' | 'Fatal' | 'Ignorable' }
  | { readonly error: 'Handled'; readonly verb: 'pause' | 'cancel' | 'skip' | 'finish' | 'reattempt' | null };

/** How a body ends. `members`: what a fan-out's body added before. */
export type Ending = { readonly members: number } & (
  | { readonly how: 'return' | 'pause' | 'cancel' | 'skip' | 'finish' }
  | { readonly how: 'reattempt'; readonly later: boolean }
  | { readonly how: 'throw'; readonly thrown: Thrown }
);

/** What the guards answer at a claim. */
export interface GuardAnswers {
  readonly cancel: boolean;
  readonly skip: boolean;
  readonly throws: Thrown | null;
}

/** `run`: 0 is the newest. */
interface OfRun {
  readonly run: number;
}

/** One thing that somebody does. Everything may come at any time: what is not legal then is refused, or does nothing. */
export type Command =
  | { readonly do: 'start'; readonly key: string | null }
  | ({ readonly do: 'pause' | 'resume' | 'cancel' | 'run_now' | 'skip' | 'rerun' } & OfRun)
  | ({ readonly do: 'reschedule'; readonly later: boolean } & OfRun)
  | ({ readonly do: 'resume_at'; readonly step: StepName | 'nowhere' } & OfRun)
  | ({
      readonly do: 'signal';
      readonly name: 'go' | 'other';
      readonly payload: 'fits' | 'does not' | 'breaks the matcher';
      readonly key: string | null;
    } & OfRun)
  /** Whatever comes next for the newest run when all goes well. */
  | { readonly do: 'go_on' }
  | { readonly do: 'claim'; readonly way: 'in a set' | 'by itself'; readonly guards: GuardAnswers }
  | {
      readonly do: 'end';
      readonly which: number;
      readonly way: 'in a set' | 'in place' | 'by itself';
      readonly ending: Ending;
    }
  | { readonly do: 'claim_member' }
  | { readonly do: 'end_member'; readonly which: number; readonly fails: boolean }
  | { readonly do: 'lose_member' }
  | { readonly do: 'join' }
  | { readonly do: 'deadline' }
  | { readonly do: 'two_hours_pass' }
  /** From then on a process with this list of steps acts; bodies at work go on in the one that began them. */
  | { readonly do: 'deploy'; readonly release: number }
  /** `remembered`: of what had lapsed when time last passed, and may be something else by now. */
  | { readonly do: 'judge'; readonly action: StallAction; readonly of: 'what has lapsed' | 'remembered' }
  | { readonly do: 'sweep'; readonly action: StallAction };

/** One that says all that is to be done. */
export type PlainCommand = Exclude<Command, { do: 'go_on' }>;

/** A verb from outside. */
export type VerbCommand = Extract<Command, OfRun>;

/** What a sequence is about: a class, and what is done to its runs. At its end the newest run is brought to its own, if it can be. */
export interface Sequence {
  readonly variant: number;
  /** Where the first run is sent to before. */
  readonly from: StepName;
  readonly commands: readonly Command[];
  readonly drained: boolean;
}

const thrown: Arbitrary<Thrown> = oneof(
  {
    weight: 4,
    arbitrary: record({ error: constantFrom('Boom', 'Flaky', 'Flaky', 'Flaky', 'Fatal', 'Ignorable') }),
  },
  {
    weight: 1,
    arbitrary: record({
      error: constant('Handled'),
      verb: constantFrom('pause', 'cancel', 'skip', 'finish', 'reattempt', null),
    }),
  },
);

const members = constantFrom(2, 1, 0);
const ending: Arbitrary<Ending> = oneof(
  { weight: 10, arbitrary: record({ members, how: constant('return') }) },
  {
    weight: 4,
    arbitrary: record({ members, how: constantFrom('pause', 'skip', 'pause', 'skip', 'finish', 'cancel') }),
  },
  { weight: 2, arbitrary: record({ members, how: constant('reattempt'), later: boolean() }) },
  { weight: 6, arbitrary: record({ members, how: constant('throw'), thrown }) },
);

const LET_PASS: GuardAnswers = { cancel: false, skip: false, throws: null };
const guards: Arbitrary<GuardAnswers> = oneof(
  { weight: 12, arbitrary: constant(LET_PASS) },
  {
    weight: 2,
    arbitrary: constantFrom({ ...LET_PASS, skip: true }, { ...LET_PASS, skip: true }, { ...LET_PASS, cancel: true }),
  },
  { weight: 1, arbitrary: thrown.map((throws) => ({ ...LET_PASS, throws })) },
);

const run = constantFrom(...Array.from({ length: 15 }, () => 0), 1);
const which = constantFrom(0, 0, 1, 2);
const later = boolean();
const action = constantFrom<StallAction[]>('pause', 'reattempt', 'cancel');
/** Mostly none: a key that comes again does nothing. */
const key = (value: string) => constantFrom(null, null, value);

const goOn = record({ do: constant('go_on') });
const claims = record({ do: constant('claim'), way: constantFrom('in a set', 'by itself'), guards });
const ends = record({ do: constant('end'), which, way: constantFrom('in a set', 'in place', 'by itself'), ending });
const signals = record({
  do: constant('signal'),
  run,
  name: constantFrom('go', 'go', 'go', 'other'),
  payload: constantFrom('fits', 'fits', 'fits', 'does not', 'breaks the matcher'),
  key: key('k'),
});
const leap = record({ do: constant('two_hours_pass') });
const deadline = record({ do: constant('deadline') });
const pauses = record({ do: constant('pause'), run });
const resumes = record({ do: constant('resume'), run });
const resumesAt = record({ do: constant('resume_at'), run, step: constantFrom(...STEP_NAMES, 'nowhere') });
const claimsMember = record({ do: constant('claim_member') });
const endsMember = record({ do: constant('end_member'), which, fails: boolean() });
const deploys = record({ do: constant('deploy'), release: nat(RELEASES.length - 1) });
const join = record({ do: constant('join') });
const looks: Arbitrary<Command> = oneof(
  record({ do: constant('judge'), action, of: constantFrom('what has lapsed', 'remembered') }),
  record({ do: constant('sweep'), action }),
);

const command: Arbitrary<Command> = oneof(
  { weight: 22, arbitrary: goOn },
  { weight: 8, arbitrary: claims },
  { weight: 10, arbitrary: ends },
  { weight: 7, arbitrary: signals },
  { weight: 5, arbitrary: leap },
  { weight: 3, arbitrary: deadline },
  { weight: 4, arbitrary: pauses },
  { weight: 8, arbitrary: resumes },
  { weight: 4, arbitrary: resumesAt },
  { weight: 2, arbitrary: record({ do: constantFrom('cancel', 'run_now'), run }) },
  { weight: 4, arbitrary: record({ do: constant('skip'), run }) },
  { weight: 2, arbitrary: record({ do: constant('reschedule'), run, later }) },
  { weight: 2, arbitrary: record({ do: constant('rerun'), run }) },
  { weight: 2, arbitrary: record({ do: constant('start'), key: key('s') }) },
  { weight: 4, arbitrary: claimsMember },
  { weight: 4, arbitrary: endsMember },
  { weight: 2, arbitrary: record({ do: constant('lose_member') }) },
  { weight: 3, arbitrary: join },
  { weight: 2, arbitrary: deploys },
  { weight: 3, arbitrary: looks },
);

const failsAgain: Arbitrary<Command> = record({
  do: constant('end'),
  which: constant(0),
  way: constant('by itself'),
  ending: constant<Ending>({ members: 0, how: 'throw', thrown: { error: 'Flaky' } }),
});

/** What rarely comes about by itself: commands that have to meet. */
const phrase: Arbitrary<Command[]> = oneof(
  { weight: 30, arbitrary: tuple(command) },
  { weight: 4, arbitrary: tuple(claims, ends) },
  { weight: 3, arbitrary: tuple(goOn, leap, looks) },
  { weight: 2, arbitrary: tuple(goOn, leap, deadline) },
  { weight: 4, arbitrary: tuple(claims, leap, deadline) },
  { weight: 2, arbitrary: tuple(goOn, leap, pauses, looks, ends) },
  { weight: 2, arbitrary: tuple(goOn, leap, ends, goOn, looks) },
  { weight: 2, arbitrary: tuple(claims, pauses, oneof(ends, resumes, resumesAt, signals), ends) },
  { weight: 2, arbitrary: tuple(pauses, oneof(signals, leap, join, ends, deadline), resumes) },
  { weight: 2, arbitrary: tuple(claims, pauses, leap, resumes, deadline) },
  { weight: 2, arbitrary: tuple(goOn, failsAgain, goOn, failsAgain, goOn, oneof(failsAgain, ends)) },
  { weight: 2, arbitrary: tuple(goOn, deploys, oneof(looks, ends, goOn), goOn) },
  { weight: 2, arbitrary: tuple(claimsMember, oneof(endsMember, leap), oneof(endsMember, looks), join) },
);

export const sequences: Arbitrary<Sequence> = record({
  variant: nat(VARIANTS.length - 1),
  from: constantFrom('one', 'gate', 'fan', 'gate', 'fan', 'two', 'last'),
  commands: array(phrase, { minLength: 1, maxLength: 24, size: 'max' }).map((phrases) => phrases.flat()),
  drained: constantFrom(false, false, true),
});

/** A command in words, as a reader of a failure needs it. */
export function shown({ do: verb, ...rest }: Command): string {
  const parts = Object.entries(rest).filter(([name, value]) => value !== null && !(name === 'run' && value === 0));
  return parts.length
    ? `${verb} ${parts.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ')}`
    : verb;
}
