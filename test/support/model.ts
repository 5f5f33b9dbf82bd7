import type { Ending, GuardAnswers, PlainCommand, Thrown, VerbCommand } from './model-commands';
import { ModelBatches } from './model-batches';
import {
  after,
  AVAILABLE,
  close,
  endRun,
  failTry,
  isEnded,
  isOpen,
  label,
  OUTCOME,
  rowOf,
  stateOf,
  type Lapsed,
  type Row,
  type Run,
  type Signal,
} from './model-rows';
import { RELEASES, type StepName } from './model-workflows';
import type { StallAction } from 'nestjs-pg-workflows';

/*
 * What docs/behaviour.md says of runs, as a program of its own: plain objects, no database, and nothing of the package's, so that it can
 * disagree with it. Time goes in leaps of two hours.
 */

export class Model extends ModelBatches {
  private remembered: Lapsed = { rows: [], tries: [] };

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

  // STA

  private start(key: string | null): string {
    const index = key === null ? -1 : this.runs.findIndex((run) => run.key === key);
    if (index >= 0) return `run ${index} again`;
    if (this.runs.some((run) => !isEnded(run))) return 'AlreadyRunningError';
    this.open(this.begin(key), 'one', true);
    return `run ${this.runs.length - 1}`;
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
