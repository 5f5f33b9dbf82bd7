import type { Ending, GuardAnswers, PlainCommand, Thrown, VerbCommand } from './model-commands';
import { RELEASES, STEP_NAMES, type Release, type StepName, type Variant } from './model-workflows';
import type { StallAction } from 'nestjs-pg-workflows';

/*
 * What docs/behaviour.md says of runs, as a program of its own: plain objects, no database, and nothing of the package's, so that it can
 * disagree with it. Time goes in leaps of two hours.
 */

type RunStatus = 'ready' | 'performing' | 'waiting' | 'paused' | 'finished' | 'cancelled';
type Verb = 'pause' | 'resume' | 'resume_at' | 'cancel' | 'run_now' | 'reschedule' | 'rerun' | 'skip' | 'signal';
type Outcome = 'completed' | 'skipped' | 'reattempted' | 'paused' | 'cancelled' | 'finished';

/** OPS-15. */
const AVAILABLE: Readonly<Record<RunStatus, readonly Verb[]>> = {
  ready: ['pause', 'cancel', 'run_now', 'reschedule', 'signal'],
  performing: ['pause', 'cancel', 'signal'],
  waiting: ['pause', 'cancel', 'skip', 'signal'],
  paused: ['resume', 'resume_at', 'cancel', 'signal'],
  finished: ['rerun'],
  cancelled: ['rerun'],
};

interface Member {
  readonly label: string;
  status: 'scheduled' | 'in_progress' | 'completed' | 'failed';
  tries: number;
  /** Leaps of time since it was claimed, or ended. */
  age: number;
}

interface Row {
  readonly step: StepName;
  readonly attempt: number;
  status: 'scheduled' | 'in_progress' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'skipped';
  outcome: Outcome | null;
  error: string | null;
  /** Of a scheduled one: its time has come. */
  due: boolean;
  /** Of a wait for a signal. */
  deadline: 'none' | 'ahead' | 'passed';
  timedOut: boolean;
  /** Leaps of time since it was claimed, or ended. */
  age: number;
  /** Of a fan-out that opened. */
  batch: { readonly size: number; members: Member[] } | null;
}

interface Signal {
  readonly name: string;
  readonly payload: string;
  readonly key: string | null;
  status: 'pending' | 'claimed' | 'consumed';
  by: Row | null;
}

interface Run {
  readonly key: string | null;
  status: RunStatus;
  readonly rows: Row[];
  readonly signals: Signal[];
  readonly events: string[];
}

/** A body at work, whoever still wants its outcome. */
interface Held {
  readonly run: Run;
  readonly row: Row;
  /** Of the process that it is in. */
  readonly release: Release;
}

/** What has lost its worker, as somebody saw it. */
interface Lapsed {
  readonly rows: readonly Row[];
  readonly tries: readonly { readonly member: Member; readonly tries: number }[];
}

export class Model {
  private readonly runs: Run[] = [];
  private readonly held: Held[] = [];
  private release = RELEASES[0];
  private remembered: Lapsed = { rows: [], tries: [] };
  private readonly heldMembers: { readonly member: Member; readonly tries: number }[] = [];

  constructor(private readonly variant: Variant) {}

  /** What the caller is told. `seen`: what the real one did, for where the order is its own to choose. */
  perform(command: PlainCommand, seen: string): string {
    switch (command.do) {
      case 'start':
        return this.start(command.key);
      case 'claim':
        return this.claim(command.guards);
      case 'end':
        return this.end(command.which, command.ending, command.way === 'in place');
      case 'claim_member':
        return this.claimMember(seen);
      case 'end_member':
        return this.endMember(command.which, command.fails);
      case 'lose_member':
        return this.loseMember();
      case 'join':
        return this.join(this.newest);
      case 'deadline':
        return this.deadline(this.newest);
      case 'two_hours_pass':
        return this.leap();
      case 'deploy':
        this.release = RELEASES[command.release];
        return 'done';
      case 'judge':
        return this.judge(command.action, command.of === 'remembered' ? this.remembered : this.lapsed());
      case 'sweep':
        return this.sweep(command.action);
      case 'signal':
      case 'pause':
      case 'resume':
      case 'resume_at':
      case 'cancel':
      case 'run_now':
      case 'reschedule':
      case 'skip':
      case 'rerun': {
        const run = this.runs.at(-1 - command.run);
        return run ? this.verb(run, command) : 'no such run';
      }
    }
  }

  /** Everything that is compared. */
  lines(): string[] {
    return this.runs.flatMap((run, index) => [
      `run ${index}: ${run.status} at ${rowOf(run).step}` +
        (run === this.newest ? `; ${AVAILABLE[run.status].join(' ')}` : ''),
      ...run.rows.flatMap((row) => [
        `  ${label(row)} ${stateOf(row, run.status === 'paused')}`,
        ...(row.batch?.members ?? []).map(({ label: name, status, tries }) => `    ${name} ${status} try ${tries}`),
      ]),
      ...run.signals.map(
        ({ name, key, status, by }) => `  signal ${name} ${key} ${status}${by ? ` ${label(by)}` : ''}`,
      ),
      `  ${run.events.join(' ')}`,
    ]);
  }

  /** Whether anything is left to do for the newest run. */
  get ended(): boolean {
    return isEnded(this.newest);
  }

  /** What brings the newest run nearer to its end. */
  next(): PlainCommand {
    const { status } = this.newest;
    if (this.ended) return { do: 'rerun', run: 0 };
    const row = rowOf(this.newest);
    const guards = { cancel: false, skip: false, throws: null };
    const live = this.held.findIndex((held) => held.row === row);
    const strange = row.step in this.release;
    if (status === 'paused' && !isOpen(row) && (strange || row.step === 'gate'))
      return { do: 'resume_at', run: 0, step: 'last' };
    if (status === 'paused') return { do: 'resume', run: 0 };
    if (status === 'waiting' && strange) return { do: 'sweep', action: 'pause' };
    if (row.status === 'scheduled')
      return row.due ? { do: 'claim', way: 'in a set', guards } : { do: 'two_hours_pass' };
    if (row.status === 'in_progress') {
      return { do: 'end', which: live, way: 'in a set', ending: { how: 'return', members: 1 } };
    }
    if (!row.batch) return { do: 'signal', run: 0, name: 'go', payload: 'fits', key: null };
    const open = row.batch.members.find(isOpen);
    if (!open) return { do: 'join' };
    if (open.status === 'scheduled') return { do: 'claim_member' };
    const atWork = this.heldMembers.findIndex(({ member, tries }) => member === open && member.tries === tries);
    return { do: 'end_member', which: atWork, fails: false };
  }

  /** Lets go what is still at work, one after the other; null: nothing is. */
  letGo(): PlainCommand | null {
    if (this.held.length) return { do: 'end', which: 0, way: 'by itself', ending: { how: 'return', members: 0 } };
    return this.heldMembers.length ? { do: 'end_member', which: 0, fails: false } : null;
  }

  private get newest(): Run {
    return this.runs.at(-1)!;
  }

  // STA

  private start(key: string | null): string {
    const index = key === null ? -1 : this.runs.findIndex((run) => run.key === key);
    if (index >= 0) return `run ${index} again`;
    if (this.runs.some((run) => !isEnded(run))) return 'AlreadyRunningError';
    this.open(this.begin(key), 'one', true);
    return `run ${this.runs.length - 1}`;
  }

  private begin(key: string | null): Run {
    const run: Run = { key, status: 'ready', rows: [], signals: [], events: ['started'] };
    this.runs.push(run);
    return run;
  }

  // OPS

  private verb(run: Run, command: VerbCommand): string {
    const { do: verb } = command;
    const row = rowOf(run);
    if (command.do === 'signal') return this.signal(run, command);
    if (!AVAILABLE[run.status].includes(verb)) {
      const refusal = verb === 'resume' || verb === 'resume_at' ? 'NotPausedError' : 'InvalidTransitionError';
      return `${refusal}: ${verb} while ${run.status}, allowed: ${AVAILABLE[run.status].join(' ')}`;
    }
    switch (command.do) {
      case 'pause':
        run.status = 'paused';
        run.events.push('paused');
        break;
      case 'resume':
        if (!isOpen(row) && row.status !== 'failed' && after(row.step, this.release) === undefined)
          return 'StepNotDefinedError';
        this.resume(run, row);
        break;
      case 'resume_at':
        if (command.step === 'nowhere' || command.step in this.release) return 'StepNotDefinedError';
        if (isOpen(row)) close(row, 'cancelled', null);
        run.status = 'ready';
        run.events.push('resumed');
        this.open(run, command.step, true);
        break;
      case 'cancel':
        if (isOpen(row)) close(row, 'cancelled', 'cancelled');
        endRun(run, 'cancelled');
        break;
      case 'run_now':
        row.due = true;
        run.events.push('run_now');
        break;
      case 'reschedule':
        row.due = !command.later;
        run.events.push('rescheduled');
        break;
      case 'skip':
        if (after(row.step, this.release) === undefined) return 'StepNotDefinedError';
        this.endRow(run, row, 'skipped');
        break;
      case 'rerun': {
        if (this.runs.some((other) => !isEnded(other))) return 'AlreadyRunningError';
        run.events.push('rerun');
        this.open(this.begin(null), 'one', true);
        return `run ${this.runs.length - 1}`;
      }
    }
    return run.status;
  }

  private resume(run: Run, row: Row): void {
    run.events.push('resumed');
    switch (row.status) {
      case 'scheduled':
        run.status = 'ready';
        return;
      case 'in_progress':
        run.status = 'performing';
        return;
      case 'waiting':
        run.status = 'waiting';
        return;
      case 'failed':
        run.status = 'ready';
        this.open(run, row.step, true);
        return;
      case 'completed':
      case 'skipped':
      case 'cancelled': {
        const next = after(row.step, this.release)!;
        if (next === null) return endRun(run, 'finished');
        run.status = 'ready';
        // AMB-08: from the end of the step before.
        this.open(run, next, next !== 'last' || row.age > 0);
      }
    }
  }

  // SIG

  private signal(run: Run, { name, payload, key }: VerbCommand & { do: 'signal' }): string {
    const known = run.signals.find((signal) => key !== null && signal.key === key);
    if (known) {
      if (!isEnded(run)) run.events.push('signal_received');
      return `${known.status} again`;
    }
    if (isEnded(run)) return 'NotOngoingError';
    const row = rowOf(run);
    const asked = row.status === 'waiting' && !row.batch && !(row.step in this.release) && name === 'go';
    if (asked && payload === 'breaks the matcher') return 'Boom';
    const signal: Signal = { name, payload, key, status: 'pending', by: null };
    run.signals.push(signal);
    run.events.push('signal_received');
    if (!asked || payload !== 'fits') return 'pending';
    this.take(run, row, signal);
    row.status = 'scheduled';
    row.due = true;
    row.deadline = 'none';
    if (run.status === 'waiting') run.status = 'ready';
    return 'claimed';
  }

  private take(run: Run, row: Row, signal: Signal): void {
    signal.status = 'claimed';
    signal.by = row;
    run.events.push('signal_claimed');
  }

  // Claims: FLOW-01 to FLOW-06, SIG-01 to SIG-03

  private claim({ cancel, skip, throws }: GuardAnswers): string {
    const run = this.newest;
    const row = rowOf(run);
    if (run.status !== 'ready' || !row.due) return 'nothing';
    // REN-01, REN-03: nobody is asked.
    if (row.step in this.release) {
      this.leave(run, row);
      return 'ended';
    }
    const waits = row.step === 'gate';
    if (throws && (this.variant.guarded || waits)) return this.threw(run, row, throws);
    if (cancel && this.variant.guarded) {
      this.endRow(run, row, 'cancelled');
      return 'ended';
    }
    if (skip && waits) {
      this.endRow(run, row, 'skipped');
      return 'ended';
    }
    if (waits && !row.timedOut) {
      const held = run.signals.find(({ status, by }) => status === 'claimed' && by!.step === row.step);
      if (held) held.by = row;
      else {
        const found = run.signals.find(
          ({ status, name, payload }) => status === 'pending' && name === 'go' && payload !== 'does not',
        );
        if (found?.payload === 'breaks the matcher') return this.threw(run, row, { error: 'Boom' });
        if (!found) {
          row.status = 'waiting';
          row.deadline = this.variant.onTimeout === null ? 'none' : 'ahead';
          run.status = 'waiting';
          run.events.push('step_waiting');
          return 'parked';
        }
        this.take(run, row, found);
      }
    }
    this.started(run, row);
    return 'started';
  }

  /** REN-01, REN-03, AMB-21. */
  private leave(run: Run, row: Row): void {
    if (this.release[row.step] === 'removed') this.endRow(run, row, 'skipped');
    else this.endRow(run, row, 'paused', { error: 'StepNotDefinedError' });
  }

  private started(run: Run, row: Row, release = this.release): void {
    row.status = 'in_progress';
    row.age = 0;
    run.status = 'performing';
    run.events.push('step_started');
    this.held.push({ run, row, release });
  }

  private isPlain(step: StepName): boolean {
    return !this.variant.guarded && ['one', 'two', 'fan', 'extra', 'last'].includes(step);
  }

  private threw(run: Run, row: Row, thrown: Thrown): string {
    run.status = 'performing';
    this.endOnError(run, row, thrown);
    return 'threw';
  }

  // Bodies

  private end(which: number, ending: Ending, inPlace: boolean): string {
    if (!this.held.length) return 'nothing';
    const [{ run, row, release }] = this.held.splice(which % this.held.length, 1);
    if (row.status !== 'in_progress') {
      run.events.push('late_completion_ignored');
      return 'done';
    }
    if (ending.how === 'throw') {
      this.endOnError(run, row, ending.thrown, release);
    } else if (ending.how === 'return' && row.step === 'fan') {
      this.openBatch(run, row, ending.members, release);
    } else if (ending.how === 'return') {
      const next = after(row.step, release);
      const goesOn = inPlace && run.status === 'performing' && next != null && next !== 'last' && this.isPlain(next);
      this.endRow(run, row, 'completed', { release });
      if (goesOn) this.started(run, rowOf(run), release);
    } else {
      this.endRow(run, row, OUTCOME[ending.how], { later: ending.how === 'reattempt' && ending.later, release });
    }
    return 'done';
  }

  /** EXC-05 to EXC-12, AMB-45. */
  private endOnError(run: Run, row: Row, thrown: Thrown, release = this.release): void {
    const { error } = thrown;
    switch (error) {
      case 'Boom':
        return this.endRow(run, row, 'paused', { error, release });
      case 'Fatal':
        return this.endRow(run, row, 'cancelled', { error, release });
      case 'Ignorable':
        return this.endRow(run, row, 'skipped', { error, release });
      case 'Handled':
        return this.endRow(run, row, OUTCOME[thrown.verb ?? 'pause'], { error, release });
      case 'Flaky': {
        const before = run.rows.filter(({ step, attempt }) => step === row.step && attempt < row.attempt).toReversed();
        const others = before.findIndex(({ outcome }) => outcome !== 'reattempted');
        const reattempts = others < 0 ? before.length : others;
        return this.endRow(run, row, reattempts < 2 ? 'reattempted' : OUTCOME[this.variant.terminalAction], {
          error,
          release,
        });
      }
    }
  }

  /** OPS-21 to OPS-28: what an attempt's end does to its run. */
  private endRow(
    run: Run,
    row: Row,
    outcome: Outcome,
    {
      error = null,
      later = false,
      release = this.release,
    }: { error?: string | null; later?: boolean; release?: Release } = {},
  ): void {
    const paused = run.status === 'paused';
    row.error = error;
    switch (outcome) {
      case 'completed':
      case 'skipped': {
        close(row, outcome, outcome);
        consume(run, row.step);
        run.events.push(outcome === 'completed' ? 'step_completed' : 'step_skipped');
        const next = after(row.step, release)!;
        if (next === null) return endRun(run, 'finished');
        if (!paused) run.status = 'ready';
        return this.open(run, next, next !== 'last');
      }
      case 'finished':
        close(row, 'completed', outcome);
        run.events.push('step_completed');
        return endRun(run, 'finished');
      case 'cancelled':
        close(row, error ? 'failed' : 'cancelled', outcome);
        if (error) run.events.push('step_failed');
        return endRun(run, 'cancelled');
      case 'paused':
        close(row, error ? 'failed' : 'completed', outcome);
        if (!error) consume(run, row.step);
        run.events.push(error ? 'step_failed' : 'step_completed');
        if (!paused) run.events.push('paused');
        run.status = 'paused';
        return;
      case 'reattempted':
        close(row, 'failed', outcome);
        run.events.push('step_reattempted');
        if (!paused) run.status = 'ready';
        return this.open(run, row.step, !later);
    }
  }

  private open(run: Run, step: StepName, due: boolean): void {
    const attempt = run.rows.filter((row) => row.step === step).length + 1;
    run.rows.push({
      step,
      attempt,
      status: 'scheduled',
      outcome: null,
      error: null,
      due,
      deadline: 'none',
      timedOut: false,
      age: 0,
      batch: null,
    });
    run.events.push('step_scheduled');
  }

  // WAIT

  private deadline(run: Run): string {
    const row = rowOf(run);
    if (run.status !== 'waiting' || row.deadline !== 'passed' || row.step in this.release) return 'nothing';
    run.events.push('wait_timed_out');
    switch (this.variant.onTimeout) {
      case 'pause':
        this.endRow(run, row, 'paused', { error: 'WaitTimedOutError' });
        break;
      case 'cancel':
        this.endRow(run, row, 'cancelled');
        break;
      case 'skip':
        if (after(row.step, this.release) === undefined) return 'StepNotDefinedError';
        this.endRow(run, row, 'skipped');
        break;
      case 'run':
        row.status = 'scheduled';
        row.due = true;
        row.timedOut = true;
        row.deadline = 'none';
        run.status = 'ready';
        break;
      case 'notify':
        row.deadline = 'ahead';
        break;
      case null:
        throw new Error('a wait without a deadline has passed it');
    }
    return 'done';
  }

  // FAN

  private openBatch(run: Run, row: Row, size: number, release: Release): void {
    run.events.push('fan_out_opened');
    const members = Array.from({ length: size }, (_, index): Member => {
      const name = `${this.runs.indexOf(run)} ${label(row)} [${index}]`;
      return { label: name, status: 'scheduled', tries: 0, age: 0 };
    });
    row.batch = { size, members };
    if (size === 0) {
      run.events.push('fan_out_finished');
      return this.endRow(run, row, 'completed', { release });
    }
    row.status = 'waiting';
    if (run.status !== 'paused') run.status = 'waiting';
    run.events.push('step_waiting');
  }

  private get members(): Member[] {
    return this.runs.flatMap(({ rows }) => rows.flatMap(({ batch }) => batch?.members ?? []));
  }

  private claimMember(seen: string): string {
    const due = this.members.filter(({ status }) => status === 'scheduled');
    if (!due.length) return 'nothing';
    const member = due.find((one) => one.label === seen);
    if (!member) return `one of ${due.map((one) => one.label).join(', ')}`;
    member.status = 'in_progress';
    member.tries += 1;
    member.age = 0;
    this.heldMembers.push({ member, tries: member.tries });
    return member.label;
  }

  private endMember(which: number, fails: boolean): string {
    if (!this.heldMembers.length) return 'nothing';
    const [{ member, tries }] = this.heldMembers.splice(which % this.heldMembers.length, 1);
    if (member.status !== 'in_progress' || member.tries !== tries) return 'late';
    if (fails) failTry(member);
    else endTry(member, 'completed');
    return 'done';
  }

  /** Somebody deletes a member's row, by hand, of the batch that the newest run waits for. */
  private loseMember(): string {
    const { batch, status } = rowOf(this.newest);
    const lost = status === 'waiting' ? batch?.members.find((member) => member.status !== 'in_progress') : undefined;
    if (!lost) return 'nothing';
    batch!.members = batch!.members.filter((member) => member !== lost);
    return 'done';
  }

  private join(run: Run): string {
    const row = rowOf(run);
    if (row.status !== 'waiting' || !row.batch || row.batch.members.some(isOpen)) return 'nothing';
    run.events.push('fan_out_finished');
    const gone = row.batch.members.length < row.batch.size;
    const failed = row.batch.members.some(({ status }) => status === 'failed');
    const error = 'FanOutFailedError';
    if (this.release.fan === 'undeclared') this.leave(run, row);
    else if (gone) this.endRow(run, row, 'paused', { error });
    else if (failed)
      this.endRow(run, row, OUTCOME[this.release.fan ? 'pause' : this.variant.onBatchFailure], { error });
    else this.endRow(run, row, 'completed');
    return 'done';
  }

  // SWEEP

  private leap(): string {
    for (const run of this.runs) {
      for (const row of run.rows) {
        row.age += 1;
        row.due = true;
        // A pause stops a wait's clock.
        if (run.status === 'waiting' && row.status === 'waiting' && row.deadline === 'ahead') row.deadline = 'passed';
      }
    }
    for (const member of this.members) member.age += 1;
    this.remembered = this.lapsed();
    return 'done';
  }

  /** Leases are good for an hour. */
  private lapsed(): Lapsed {
    const isLapsed = ({ status, age }: { status: string; age: number }) => status === 'in_progress' && age >= 1;
    return {
      rows: this.runs.map(rowOf).filter(isLapsed),
      tries: this.members.filter(isLapsed).map((member) => ({ member, tries: member.tries })),
    };
  }

  private judge(action: StallAction, { rows, tries }: Lapsed): string {
    for (const run of this.runs) if (rows.includes(rowOf(run))) this.stall(run, action);
    for (const { member, tries: before } of tries) {
      if (member.status === 'in_progress' && member.tries === before) failTry(member);
    }
    return 'done';
  }

  /** An hour is too long for a body, but `two` may take five; a batch whose end was an hour ago was overlooked. */
  private sweep(action: StallAction): string {
    for (const run of this.runs) {
      const row = rowOf(run);
      if (row.age * 2 > (row.step === 'two' && !this.release.two ? 5 : 1)) this.stall(run, action);
    }
    for (const member of this.members) if (member.status === 'in_progress' && member.age >= 1) failTry(member);
    for (const run of this.runs) {
      if (run.status === 'waiting' && rowOf(run).step in this.release) this.leave(run, rowOf(run));
    }
    for (const run of this.runs) {
      const { batch } = rowOf(run);
      if (batch && (batch.members.length < batch.size || batch.members.every(({ age }) => age >= 1))) this.join(run);
    }
    return 'done';
  }

  private stall(run: Run, action: StallAction): void {
    const row = rowOf(run);
    if (row.status !== 'in_progress') return;
    run.events.push('stall_detected');
    const outcome = action === 'reattempt' && row.step in this.release ? 'paused' : OUTCOME[action];
    this.endRow(run, row, outcome, { error: 'StepStalledError' });
  }
}

const OUTCOME = {
  pause: 'paused',
  cancel: 'cancelled',
  skip: 'skipped',
  finish: 'finished',
  reattempt: 'reattempted',
} as const;

function rowOf(run: Run): Row {
  return run.rows.at(-1)!;
}

function label({ step, attempt }: Row): string {
  return `${step}#${attempt}`;
}

function isOpen({ status }: { readonly status: string }): boolean {
  return ['scheduled', 'in_progress', 'waiting'].includes(status);
}

function isEnded({ status }: Run): boolean {
  return status === 'finished' || status === 'cancelled';
}

/** REN-08; null: it is the last. Undefined: nobody knows. */
function after(step: StepName, release: Release): StepName | null | undefined {
  if (release[step] === 'undeclared') return undefined;
  return STEP_NAMES.slice(STEP_NAMES.indexOf(step) + 1).find((name) => !(name in release)) ?? null;
}

function close(row: Row, status: Row['status'], outcome: Outcome | null): void {
  row.status = status;
  row.outcome = outcome;
  row.age = 0;
}

function endRun(run: Run, status: 'finished' | 'cancelled'): void {
  run.status = status;
  run.events.push(status);
  consume(run, null);
}

/** SIG-09; null: whatever the run's steps hold. */
function consume(run: Run, step: StepName | null): void {
  for (const signal of run.signals) {
    if (signal.status === 'claimed' && (step === null || signal.by!.step === step)) signal.status = 'consumed';
  }
}

function endTry(member: Member, status: Member['status']): void {
  member.status = status;
  member.age = 0;
}

/** FAN-23: two tries, without a pause between them. */
function failTry(member: Member): void {
  endTry(member, member.tries < 2 ? 'scheduled' : 'failed');
}

function stateOf(row: Row, paused: boolean): string {
  const { status, outcome, error, due, deadline, timedOut, batch } = row;
  const parts: (string | null)[] = [status, outcome, error];
  if (status === 'scheduled') parts.push(paused ? 'held' : due ? 'due' : 'later', timedOut ? 'timed out' : null);
  if (status === 'waiting' && !batch) parts.push(deadline === 'none' ? 'no deadline' : paused ? 'stopped' : deadline);
  return parts.filter(Boolean).join(' ');
}
