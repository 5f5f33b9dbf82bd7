import type { AttemptRunner } from '../engine/attempt-runner.js';
import type { EngineParts } from '../engine/engine.parts.js';
import { declareStalled, stalledMember } from '../engine/stall.js';
import type { StallDetection } from '../observe/channels.js';
import type { SuspectRow } from '../store/leases.js';
import type { MemberEnd } from '../store/members.js';
import { messageOf } from './message-of.js';
import { monotonic } from './monotonic.js';
import { workflowLogger } from '../observe/log.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Declares stalled what others found to be: attempts by `stallAction`, members by their `maxAttempts`. A row for which nothing could be done
 * (somebody holds its run, its run is in a status that fits no row in progress, its declaration fails) is left for longer and longer.
 */
export class Stalls {
  private readonly logger = workflowLogger;
  private readonly left = new Map<string, { readonly until: number; readonly pause: number }>();
  private working: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly parts: EngineParts,
    private readonly runner: AttemptRunner,
    private readonly settleMember: (end: MemberEnd) => Promise<boolean>,
  ) {}

  /** Rows whose lease has lapsed. While some are being judged, others wait for the next look. */
  lapsed(rows: readonly SuspectRow[]): void {
    if (this.working || this.stopped) return;
    this.working = this.declareAll(rows, 'lease').finally(() => {
      this.working = undefined;
    });
  }

  async declareAll(rows: readonly SuspectRow[], detection: StallDetection): Promise<void> {
    this.forgetOld();
    for (const row of rows) {
      if (this.stopped) return;
      if ((this.left.get(keyOf(row))?.until ?? 0) <= monotonic()) await this.declare(row, detection);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.working;
  }

  private async declare(row: SuspectRow, detection: StallDetection): Promise<void> {
    try {
      const done = row.member ? await this.declareMember(row, detection) : await this.declareAttempt(row, detection);
      if (done) this.left.delete(keyOf(row));
      else this.leave(row);
    } catch (error) {
      this.leave(row);
      this.logger.error(
        `Step ${row.id} of workflow ${row.workflow_id} is stalled; declaring it so failed, and is tried again: ${messageOf(error)}`,
      );
    }
  }

  private async declareAttempt(row: SuspectRow, detection: StallDetection): Promise<boolean> {
    const { id, workflow_id: workflowId, claim_no: claimNo } = row;
    const { stalled, report } = await declareStalled(this.parts, { id, workflowId, claimNo }, detection);
    if (report) await this.runner.report(report.error, report.context);
    return stalled;
  }

  private async declareMember(row: SuspectRow, detection: StallDetection): Promise<boolean> {
    const { id, claim_no: claimNo, handler: job, job_attempt: attempt } = row;
    const end = stalledMember(this.parts, { id, claimNo, job, attempt }, detection);
    if (!end || !(await this.settleMember(end))) return false;
    this.logger.warn(
      `Workflow ${row.workflow_id}: ${end.error!.message} It is ${end.status === 'failed' ? 'dead-lettered' : 'tried again'}.`,
    );
    return true;
  }

  private leave(row: SuspectRow): void {
    const before = this.left.get(keyOf(row))?.pause;
    const pause = before === undefined ? FIRST_PAUSE_MS : Math.min(before * 2, LONGEST_PAUSE_MS);
    this.left.set(keyOf(row), { until: monotonic() + pause, pause });
  }

  /** What nobody asked about for long has ended meanwhile. */
  private forgetOld(): void {
    const now = monotonic();
    for (const [key, { until }] of this.left) if (now - until > 10 * LONGEST_PAUSE_MS) this.left.delete(key);
  }
}

function keyOf({ id, claim_no }: SuspectRow): string {
  return `${id}:${claim_no}`;
}
