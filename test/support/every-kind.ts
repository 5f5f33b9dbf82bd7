import {
  CancelIf,
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobHandler,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import type { Suite, TestApp } from './suite';

@WorkflowJob({ maxAttempts: 20, backoff: 20 })
class Errand implements JobHandler<{ n: number }> {
  async perform() {
    await new Promise(setImmediate);
  }
}

/**
 * A step of every kind, each of which is claimed and settled in its own way. What a body meets when its connection is lost is its own error:
 * it is tried again.
 */
@Workflow({ onException: { action: 'reattempt', wait: 20, report: 'never' } })
export class EveryKind extends WorkflowOf<null, { n: number }> {
  @CancelIf()
  unwanted({ args }: Ctx<this>) {
    return args.n < 0;
  }

  @Step()
  async guarded(ctx: Ctx<this>) {
    ctx.output({ n: ctx.args.n });
  }

  @Step({ transactional: true })
  async transactional(ctx: Ctx<this>) {
    await ctx.manager.query('insert into every_kind_ledger (workflow_id) values ($1)', [ctx.workflowId]);
  }

  @Step({ waitFor: 'go' })
  async gate() {}

  @FanOut()
  async errands(_: Ctx<this>, batch: FanOutBatch) {
    for (let n = 0; n < 3; n += 1) batch.add(Errand, { n });
  }

  @Step({ wait: 20 })
  async later() {}
}

/** Plain steps alone: they are claimed and settled in sets, and gone on with in place. */
@Workflow()
export class PlainKind extends WorkflowOf {
  @Step()
  async one() {}

  @Step()
  async two() {}

  @Step({ wait: 20 })
  async three() {}
}

export const EVERY_KIND = [EveryKind, PlainKind, Errand];

/** The table that the transactional step writes to. */
export async function createLedger(sql: Suite['sql']): Promise<void> {
  await sql('create table every_kind_ledger (workflow_id uuid not null)');
}

/** The runs whose transactional step has written anything but once. */
export async function wronglyWritten(sql: Suite['sql']): Promise<unknown[]> {
  return sql(
    `select w.id, count(l.workflow_id) from workflows w left join every_kind_ledger l on l.workflow_id = w.id
     where w.workflow_class = 'EveryKind' group by w.id having count(l.workflow_id) <> 1`,
  );
}

/** So many starts of each of the two classes. */
export async function startBoth({ workflows }: Pick<TestApp, 'workflows'>, count: number): Promise<WorkflowHandle[]> {
  const numbers = Array.from({ length: count }, (_, n) => n);
  return [
    ...(await workflows.startMany(
      EveryKind,
      numbers.map((n) => ({ args: { n } })),
    )),
    ...(await workflows.startMany(
      PlainKind,
      numbers.map(() => ({})),
    )),
  ];
}

/** Sends each run of `EveryKind` its signal, and waits until they have all finished. A look that the database does not answer is made again. */
export async function untilAllFinished(
  suite: Suite,
  { workflows }: Pick<TestApp, 'workflows'>,
  runs: readonly WorkflowHandle[],
): Promise<void> {
  const ids = runs.map(({ id }) => id);
  const look = <Row>(query: string) => suite.sql<Row>(query, [ids]).catch((): Row[] => []);
  const stateOf = async () => {
    const waiting = await look<{ id: string }>(
      `select workflow_id::text as id from workflow_steps
       where workflow_id = any($1) and status = 'waiting' and wait_for = 'go'`,
    );
    for (const { id } of waiting) await (await workflows.find(id)).signal('go');
    const [row] = await look<{ left: number; events: number }>(
      `select (select count(*) from workflows where id = any($1) and status <> 'finished')::int as left,
              (select count(*) from workflow_events where workflow_id = any($1))::int as events`,
    );
    return row ?? { left: Infinity, events: -1 };
  };
  const moved = async (before: { left: number; events: number }) => {
    let now = before;
    await suite.eventually(async () => {
      now = await stateOf();
      return now.left === 0 || now.events > before.events;
    }, `something more happens to ${before.left} runs that are to finish`);
    return now;
  };
  // As long as anything happens it goes on: a machine may be slow, but nothing may stand still.
  let state = await moved({ left: ids.length, events: 0 });
  while (state.left > 0) state = await moved(state);
}

/** Steps of these runs that came to anything but their completion at the first try. */
export function notAtOnce(sql: Suite['sql'], runs: readonly WorkflowHandle[]): Promise<unknown[]> {
  return sql(
    `select workflow_id, step_name, attempt, status, error_class from workflow_steps
     where workflow_id = any($1) and (status <> 'completed' or attempt > 1)`,
    [runs.map(({ id }) => id)],
  );
}
