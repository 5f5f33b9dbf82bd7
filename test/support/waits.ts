import { randomUUID } from 'node:crypto';
import {
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type StepOptions,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import type { Suite } from './suite';

type Sql = Suite['sql'];

/** What a body saw of its wait. */
export interface Seen {
  readonly attempt: number;
  readonly received: unknown;
  readonly timedOut: boolean;
  readonly woken: boolean;
  readonly ready: boolean;
}

/** The bodies that ran, by run. */
const seen = new Map<string, Seen[]>();

export function seenBy(run: WorkflowHandle | string): readonly Seen[] {
  return seen.get(typeof run === 'string' ? run : run.id) ?? [];
}

export async function note(ctx: StepContext): Promise<void> {
  const { workflowId, attempt, receivedSignal: received, timedOut, woken } = ctx;
  const ready = await ctx.signalReady();
  seen.set(workflowId, [...seenBy(workflowId), { attempt, received, timedOut, woken, ready }]);
}

/** A class whose step `gate` waits for the signal `go`, and whose step `after` follows. */
export function waiting(
  options: Omit<StepOptions, 'waitFor'> = {},
  body: (ctx: StepContext) => unknown = () => undefined,
) {
  @Workflow({ name: `Waiting ${randomUUID()}` })
  class Waiting extends WorkflowOf<null, any> {
    @Step({ waitFor: 'go', ...options })
    async gate(ctx: Ctx<this>) {
      await note(ctx);
      await body(ctx);
    }

    @Step()
    async after() {}
  }
  return Waiting;
}

/** A `waitTimeout`: a deadline at the park, and none after it. */
export function oneDeadline() {
  const asked = new Set<string>();
  return ({ workflowId }: { workflowId: string }) => {
    if (asked.has(workflowId)) return null;
    asked.add(workflowId);
    return '1 hour' as const;
  };
}

/** A wait's deadline has passed, so long ago: what the next look of a worker finds. Returns it as events write it. */
export async function passDeadline(sql: Sql, run: WorkflowHandle | string, ago = '1 second'): Promise<string> {
  const [row] = await sql<{ at: Date }>(
    `with passed as (
       update workflow_steps set timeout_at = statement_timestamp() - $2::interval
       where workflow_id = $1 and status = 'waiting' and member_index = -1 returning timeout_at
     ) select timeout_at as at from passed`,
    [typeof run === 'string' ? run : run.id, ago],
  );
  return row.at.toISOString();
}

/** What stands in the details of the run's `wait_timed_out` events, oldest first. */
export async function timeOuts(sql: Sql, run: WorkflowHandle | string): Promise<Record<string, unknown>[]> {
  const rows = await sql<{ details: Record<string, unknown> }>(
    `select details from workflow_events where workflow_id = $1 and name = 'wait_timed_out' order by id`,
    [typeof run === 'string' ? run : run.id],
  );
  return rows.map(({ details }) => details);
}
