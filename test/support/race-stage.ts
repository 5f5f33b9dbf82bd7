import type { WorkflowHandle } from 'nestjs-pg-workflows';
import type { Attempt } from '../../libs/workflow/src/engine/attempt';
import { AttemptRunner } from '../../libs/workflow/src/engine/attempt-runner';
import { claimGuarded } from '../../libs/workflow/src/engine/guarded-claim';
import { settleOne } from '../../libs/workflow/src/engine/settle-one';
import type { Outcome } from '../../libs/workflow/src/transition/outcomes';
import type { Side } from './race-sides';
import type { Suite } from './suite';

/** Brings runs where a scene wants them, step by step. */
export class Stage {
  readonly attempts = new Map<string, Attempt>();

  constructor(
    private readonly runs: readonly WorkflowHandle[],
    private readonly side: Side,
    private readonly sql: Suite['sql'],
  ) {}

  async each(act: (of: { run: WorkflowHandle }) => Promise<unknown>): Promise<void> {
    await Promise.all(this.runs.map((run) => act({ run })));
  }

  pause(): Promise<void> {
    return this.each(({ run }) => run.pause());
  }

  signal(): Promise<void> {
    return this.each(({ run }) => run.signal('go'));
  }

  /** The newest attempt of each run's step. */
  async openRows(): Promise<Map<string, string>> {
    const rows = await this.sql<{ id: string; workflow_id: string }>(
      `select max(id)::text as id, workflow_id from workflow_steps where workflow_id = any($1) and member_index = -1 group by workflow_id`,
      [this.runs.map(({ id }) => id)],
    );
    return new Map(rows.map((row) => [row.workflow_id, row.id]));
  }

  async claim(kind: 'parked' | 'started') {
    const rows = await this.openRows();
    return Promise.all(
      this.runs.map(async ({ id: workflowId }) => {
        const claimed = await claimGuarded(this.side.parts, { id: rows.get(workflowId)!, workflowId });
        if (claimed.kind !== kind) throw new Error(`A claim that should be ${kind} was ${claimed.kind}`);
        return claimed;
      }),
    );
  }

  /** Bodies are at work, on a worker that was not heard of for longer than its lease. */
  async begin(): Promise<void> {
    for (const claimed of await this.claim('started')) {
      if (claimed.kind === 'started') this.attempts.set(claimed.attempt.row.workflowId, claimed.attempt);
    }
    await this.sql(
      `update workflow_steps set lease_expires_at = statement_timestamp() - interval '1 minute'
       where workflow_id = any($1) and status = 'in_progress'`,
      [this.runs.map(({ id }) => id)],
    );
  }

  settle(outcome: Outcome): Promise<void> {
    return this.each(({ run }) => settleOne(this.side.parts, this.attempts.get(run.id)!, outcome));
  }

  async passDeadline(): Promise<void> {
    await this.sql(
      `update workflow_steps set timeout_at = statement_timestamp() - interval '1 second'
       where workflow_id = any($1) and status = 'waiting'`,
      [this.runs.map(({ id }) => id)],
    );
  }

  /** A batch opens, and its members end: all well, or the first of them dead-lettered. Nobody has joined it yet. */
  async fanOut(members: 'completed' | 'failed'): Promise<void> {
    const runner = new AttemptRunner(this.side.parts);
    await Promise.all(
      (await this.claim('started')).map(async (claimed) => {
        if (claimed.kind === 'started') await runner.run(claimed);
      }),
    );
    await this.sql(
      `update workflow_steps set status = case when member_index = 0 then $2 else 'completed' end,
              started_at = statement_timestamp(), finished_at = statement_timestamp()
       where workflow_id = any($1) and member_index >= 0`,
      [this.runs.map(({ id }) => id), members],
    );
  }
}
