import { attemptOfClaimed, type Attempt } from '../engine/attempt.js';
import type { AttemptRunner, Begun } from '../engine/attempt-runner.js';
import type { EngineParts } from '../engine/engine.parts.js';
import { holdSignal } from '../engine/gate.js';
import { claimGuarded } from '../engine/guarded-claim.js';
import { join } from '../engine/join.js';
import { memberOf, runMember } from '../engine/member.js';
import type { StepDefinition } from '../definition/definition.js';
import { ownedRows, type ClaimedMember, type ClaimedRow } from '../store/claim.js';
import type { MemberEnd } from '../store/members.js';
import { isPassing } from '../store/patience.js';
import type { Wakeup } from '../store/wakeup.js';
import type { InHand } from './in-hand.js';
import { MemberQueue, type EndedBatch } from './member-queue.js';
import { messageOf } from './message-of.js';
import { SettlementQueue, type GuardedNext } from './settlement-queue.js';
import { lineAbout, workflowLogger } from '../observe/log.js';

/** What the executor asks of, and tells, the dispatcher. */
export interface ExecutorHost {
  /** Whether to go on with a run's next step in place. */
  readonly goesOn: (attempt: Attempt, next: StepDefinition) => boolean;
  /** Whether it claims no more. */
  readonly isStopping: () => boolean;
  /** A slot is free again. */
  readonly slotFreed: () => void;
  /** The database did not answer: said once, however many rows it concerns. */
  readonly databaseFailed: (error: unknown) => void;
  /** A guarded row was claimed, or passed over: somebody holds it, or it moved on. */
  readonly guardedClaimed: (passedOver: boolean) => void;
  /** A run was parked with a deadline so many milliseconds from now. */
  readonly parked: (deadlineIn: number) => void;
}

/** Runs what was claimed, each in a slot of its own, and has its end settled. */
export class Executor {
  private readonly logger = workflowLogger;
  private readonly settlements: SettlementQueue;
  private readonly members: MemberQueue;

  constructor(
    private readonly parts: EngineParts,
    private readonly runner: AttemptRunner,
    private readonly inHand: InHand,
    private readonly host: ExecutorHost,
    private readonly wakeup: Wakeup,
    settleInSets: boolean,
  ) {
    this.settlements = new SettlementQueue(parts, wakeup, inHand, host.goesOn, settleInSets);
    this.members = new MemberQueue(parts, wakeup, (batch) => void this.join(batch));
  }

  runClaimed(row: ClaimedRow): void {
    const attempt = attemptOfClaimed(this.parts.registry, row);
    attempt.wokenBy = row.signal;
    this.run({ attempt });
  }

  /** Settles the end of a member's try that somebody else made. False: it was no longer so. */
  settleMember(end: MemberEnd): Promise<boolean> {
    return this.members.settle(end);
  }

  /**
   * Rows that were claimed for this process while the answer was lost: their bodies never began. As many as there is room for; the others are
   * on the next list of what is ours.
   */
  async takeUp(ids: readonly string[]): Promise<void> {
    const { database, worker } = this.parts;
    const { plain, members } = await this.inHand.claiming(() =>
      database.engineConnect((connection) => ownedRows(connection, ids, worker)),
    );
    for (const row of plain) if (!this.inHand.knows(row.id, row.claim_no)) await this.takeUpAttempt(row);
    for (const row of members) if (!this.inHand.knows(row.id, row.claim_no)) this.runMember(row);
  }

  private async takeUpAttempt(row: ClaimedRow): Promise<void> {
    const attempt = attemptOfClaimed(this.parts.registry, row);
    if (attempt.step.waitFor) await holdSignal(this.parts, attempt);
    this.run({ attempt });
  }

  /** Claims a due row that needs a transaction of its own, and runs it if its guards and its gate let it. */
  async runGuarded(due: { id: string; workflowId: string }, chain = 1): Promise<void> {
    // A claim under way may find the row that this worker goes on with.
    if (this.inHand.knowsGuarded(due.id)) return this.host.slotFreed();
    this.inHand.addGuarded(due.id);
    try {
      const claimed = await claimGuarded(this.parts, due);
      if (claimed.kind === 'started') this.run({ attempt: claimed.attempt, context: claimed.context }, chain);
      if (claimed.kind === 'threw') {
        const { attempt, context, error } = claimed;
        this.run({ attempt, context, failure: { error } }, chain);
      }
      this.host.guardedClaimed(claimed.kind === 'dropped');
      if (claimed.kind === 'parked' && claimed.deadlineIn !== null) this.host.parked(claimed.deadlineIn);
      if (claimed.kind === 'ended' && claimed.report) {
        await this.runner.report(claimed.report.error, claimed.report.context);
      }
    } catch (error) {
      // Rolled back: the row is scheduled as before, and a later claim takes it.
      if (this.parts.database.released) return;
      if (isPassing(error)) this.host.databaseFailed(error);
      else
        this.logger.error(
          `The claim of step ${due.id} of workflow ${due.workflowId} failed, and is tried again: ${messageOf(error)}`,
        );
    } finally {
      this.inHand.removeGuarded(due.id);
      this.host.slotFreed();
    }
  }

  runMember(row: ClaimedMember): void {
    const member = memberOf(this.parts.registry, row);
    this.inHand.add(member, null);
    runMember(this.parts, member)
      .then((end) => {
        if (end.status === 'failed') {
          this.logger.error(
            `${member.label} is dead-lettered after ${member.row.attempt} attempts: ${end.error?.class}: ${end.error?.message}`,
          );
        }
        return this.members.settle(end);
      })
      .catch((error: unknown) => {
        this.inHand.abandon(member);
        this.logger.error(
          `${member.label}: its end could not be stored; its row stays in progress until it is found to be stalled: ${messageOf(error)}`,
        );
      })
      .finally(() => {
        this.inHand.remove(member);
        this.host.slotFreed();
      });
  }

  private run(begun: Begun, chain = 1): void {
    const { attempt } = begun;
    attempt.chain = chain;
    attempt.begunAt = performance.now();
    this.inHand.add(attempt, attempt.step.timeout);
    let goOn = (): void => this.host.slotFreed();
    this.runner
      .run(begun, async (settled, outcome) => {
        const { settlement, next, guarded } = await this.settlements.settle(settled, outcome);
        if (next) goOn = () => this.run({ attempt: next }, chain + 1);
        if (guarded) goOn = () => this.goOnTo(guarded, chain + 1);
        return settlement;
      })
      .catch((error: unknown) => this.lost(attempt, error))
      .finally(() => {
        this.inHand.remove(attempt);
        goOn();
      });
  }

  /** A row that is due and not claimed: a worker that stops leaves it to the others. */
  private goOnTo({ id, workflowId, queue, priority }: GuardedNext, chain: number): void {
    if (!this.host.isStopping()) return void this.runGuarded({ id, workflowId }, chain);
    this.wakeup.announce([{ kind: 'due', queue, priority, dueIn: 0 }]);
    this.host.slotFreed();
  }

  private async join({ id, workflowId }: EndedBatch): Promise<void> {
    // In hand, so that a stop waits for it.
    this.inHand.joins += 1;
    try {
      const joined = await join(this.parts, { id, workflowId });
      if (joined?.report) await this.runner.report(joined.report.error, joined.report.context);
    } catch (error) {
      this.logger.error(
        `Joining the batch ${id} of workflow ${workflowId} failed, and is tried again: ${messageOf(error)}`,
      );
    } finally {
      this.inHand.joins -= 1;
      this.host.slotFreed();
    }
  }

  private lost(attempt: Attempt, error: unknown): void {
    const { label, row, step } = attempt;
    this.inHand.abandon(attempt);
    const text = `${label}: the outcome could not be stored; its row stays in progress until it is found to be stalled: ${messageOf(error)}`;
    this.logger.error(lineAbout({ workflowId: row.workflowId, stepName: step.name, attempt: row.attempt }, text));
  }
}
