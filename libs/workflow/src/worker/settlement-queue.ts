import type { StepDefinition } from '../definition/definition.js';
import { Attempt } from '../engine/attempt.js';
import type { EngineParts } from '../engine/engine.parts.js';
import { patiently } from '../store/patience.js';
import { expectedEnd, tellEnd } from '../engine/expected-end.js';
import { settleOne } from '../engine/settle-one.js';
import type { Settlement } from '../engine/settlement.js';
import { sqlStateOf } from '../store/sql-state.js';
import { settle, type Settled, type Settlement as SetRow } from '../store/settle.js';
import type { Wakeup } from '../store/wakeup.js';
import type { InHand } from './in-hand.js';
import type { Move } from '../transition/change-run.js';
import type { Outcome } from '../transition/outcomes.js';

/** A run's next row, when guards or a gate are to be asked first. */
export interface GuardedNext {
  readonly id: string;
  readonly workflowId: string;
  readonly queue: string;
  readonly priority: number;
}

/** What became of an outcome, and what this worker goes on with. */
export interface SettledAttempt {
  readonly settlement: Settlement;
  /** The next attempt, claimed in place. */
  readonly next: Attempt | null;
  /** It is due, and needs no claim to be found. */
  readonly guarded: GuardedNext | null;
}

interface Waiting {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly move: Move;
  readonly row: SetRow;
  readonly nextStep: StepDefinition | null;
  /** Whether this worker goes on with it at once. */
  readonly goesOn: boolean;
  readonly done: (settled: SettledAttempt | Promise<SettledAttempt>) => void;
}

const LARGEST_FLUSH = 256;
/** The server works on one while the other waits for its commit to be on disk. */
const FLUSHES_AT_ONCE = 2;

/**
 * Settles plain completions in sets. A flush goes out when one before has returned: no delay when idle, large sets under
 * load. Everything unusual, and what the set had to leave out, is settled one run at a time.
 */
export class SettlementQueue {
  private waiting: Waiting[] = [];
  private flushes = 0;

  constructor(
    private readonly parts: EngineParts,
    private readonly wakeup: Wakeup,
    private readonly inHand: InHand,
    /** Whether this worker goes on with the next step in place, as far as it is asked. */
    private readonly goesOn: (attempt: Attempt, next: StepDefinition) => boolean,
    /** False: every outcome by itself, to measure what the sets bring. */
    private readonly inSets: boolean,
  ) {}

  async settle(attempt: Attempt, outcome: Outcome): Promise<SettledAttempt> {
    if (!this.inSets || !isUsual(attempt, outcome)) return this.alone(attempt, outcome);
    return new Promise((done) => {
      this.waiting.push(this.prepare(attempt, outcome, done));
      if (this.flushes < FLUSHES_AT_ONCE) void this.flush();
    });
  }

  private prepare(attempt: Attempt, outcome: Outcome, done: Waiting['done']): Waiting {
    const { id, workflowId, claimNo } = attempt.row;
    const move = expectedEnd(this.parts, attempt, outcome);
    const next = move.open?.schedule ?? null;
    const nextStep = next && attempt.workflow.definition.step(next.step)!;
    const goesOn = nextStep !== null && isDueAtOnce(next!) && this.goesOn(attempt, nextStep);
    const inPlace = goesOn && nextStep.plain;
    return {
      attempt,
      outcome,
      move,
      nextStep,
      goesOn,
      done,
      row: { id, workflowId, claimNo, output: outcome.output, next, inPlace, hasSignal: attempt.gate !== null },
    };
  }

  private async flush(): Promise<void> {
    this.flushes += 1;
    // Outcomes of bodies that end in the same turn of the event loop travel together.
    await new Promise(setImmediate);
    while (this.waiting.length) {
      const set = this.takeSet();
      await this.inHand.claiming(() => this.flushSet(set));
    }
    this.flushes -= 1;
  }

  /**
   * Of each run one. A body that `resumeAt` took the place of may end together with its successor: the answer names runs, and would be
   * taken for the answer to both.
   */
  private takeSet(): readonly Waiting[] {
    const set = new Map<string, Waiting>();
    const left: Waiting[] = [];
    for (const one of this.waiting) {
      const { workflowId } = one.row;
      if (set.size < LARGEST_FLUSH && !set.has(workflowId)) set.set(workflowId, one);
      else left.push(one);
    }
    this.waiting = left;
    return [...set.values()];
  }

  private async flushSet(set: readonly Waiting[]): Promise<void> {
    try {
      const { settled, doubtful } = await this.send(set);
      this.answer(set, settled, doubtful);
    } catch (error) {
      for (const one of set) one.done(Promise.reject(error));
    }
  }

  /** `settled` null: not as a set, one by one. `doubtful`: it was sent more than once, and the answer to the first is not known. */
  private async send(set: readonly Waiting[]): Promise<{ settled: Settled[] | null; doubtful: boolean }> {
    const { database, worker } = this.parts;
    const rows = set.map(({ row }) => row);
    let doubtful = false;
    try {
      const settled = await patiently(database, (again) => {
        doubtful = again;
        return database.engineConnect((connection) => settle(connection, rows, worker));
      });
      return { settled, doubtful };
    } catch (error) {
      // The database refused the set: for a value, a deadlock, a trigger of the application's. What one run is refused for must not
      // stop the others.
      if (sqlStateOf(error) !== undefined) return { settled: null, doubtful };
      throw error;
    }
  }

  private answer(set: readonly Waiting[], settled: readonly Settled[] | null, doubtful: boolean): void {
    const byRun = new Map(settled?.map((row) => [row.workflow_id, row]));
    for (const one of set) {
      const row = byRun.get(one.row.workflowId);
      if (row) tellEnd(one.attempt, one.move);
      one.done(
        row ? { settlement: 'settled', ...this.nextOf(one, row) } : this.alone(one.attempt, one.outcome, doubtful),
      );
    }
  }

  private nextOf(
    { attempt, row, nextStep, goesOn }: Waiting,
    settled: Settled,
  ): Pick<SettledAttempt, 'next' | 'guarded'> {
    if (!nextStep || settled.next_id === null) return { next: null, guarded: null };
    const { queue, priority } = row.next!;
    if (!row.inPlace) {
      if (goesOn) return { next: null, guarded: { id: settled.next_id, workflowId: row.workflowId, queue, priority } };
      this.wakeup.announce([{ kind: 'due', queue, priority, dueIn: settled.next_due_in ?? 0 }]);
      return { next: null, guarded: null };
    }
    const next = {
      id: settled.next_id,
      workflowId: row.workflowId,
      attempt: settled.next_attempt!,
      claimNo: 1,
      queue,
      priority,
    };
    return { next: new Attempt(attempt.workflow, nextStep, next, attempt.input), guarded: null };
  }

  /** When it turns out to have been stored, and a next step was claimed in place, that one is found by what the renewal lists. */
  private async alone(attempt: Attempt, outcome: Outcome, doubtful = false): Promise<SettledAttempt> {
    return { settlement: await settleOne(this.parts, attempt, outcome, doubtful), next: null, guarded: null };
  }
}

/** A return that opens no batch. */
function isUsual({ batch }: Attempt, { kind, error }: Outcome): boolean {
  return kind === 'completed' && !error && !batch;
}

function isDueAtOnce({
  wait,
  holdBack,
  notBefore,
}: {
  wait: number;
  holdBack: number;
  notBefore: Date | null;
}): boolean {
  return wait === 0 && holdBack === 0 && notBefore === null;
}
