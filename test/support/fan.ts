import { randomUUID } from 'node:crypto';
import {
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type FanOutBatch,
  type FanOutOptions,
  type JobContext,
  type JobHandler,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { gate, type Suite, type TestApp } from './suite';

interface FanScript {
  /** The fan-out's body; default: adds `size` members. */
  readonly fan?: (ctx: StepContext, batch: FanOutBatch) => unknown;
  readonly size?: number;
  /** What member `n` does. */
  readonly task?: (n: number, job: JobContext) => unknown;
  /** The step after the fan-out. */
  readonly after?: (ctx: StepContext) => unknown;
}

const scripts = new Map<string, FanScript>();

/** Options of a start of a class made by {@link fanning}. */
export function fanScript(script: FanScript = {}): { args: { script: string } } {
  const key = randomUUID();
  scripts.set(key, script);
  return { args: { script: key } };
}

export interface TaskArgs {
  readonly script: string;
  readonly n: number;
}

/** Two tries, without a pause between them. */
@WorkflowJob({ maxAttempts: 2, backoff: 0 })
export class Task implements JobHandler<TaskArgs> {
  async perform({ script, n }: TaskArgs, job: JobContext) {
    await scripts.get(script)!.task?.(n, job);
  }
}

/** Adds that many members to the batch. */
export function addTasks(ctx: StepContext, batch: FanOutBatch, size: number): void {
  for (let n = 0; n < size; n += 1) batch.add(Task, { script: ctx.args.script, n });
}

/** A fan-out and a step after it; what they and the members do is said by each start's script. */
export function fanning(name: string, options: FanOutOptions = {}, last = false) {
  @Workflow({ name })
  class Fanning extends WorkflowOf<null, { script: string }> {
    @FanOut(options)
    async fan(ctx: StepContext, batch: FanOutBatch) {
      const { fan, size = 3 } = scripts.get(ctx.args.script)!;
      await (fan ? fan(ctx, batch) : addTasks(ctx, batch, size));
    }
  }
  if (last) return Fanning;

  @Workflow({ name })
  class FanningAndOn extends Fanning {
    @Step()
    async after(ctx: StepContext) {
      await scripts.get(ctx.args.script)!.after?.(ctx);
    }
  }
  return FanningAndOn;
}

/** The members of a run, batch by batch, one line each: `fan 1 [0] completed`. */
export async function membersOf(sql: Suite['sql'], run: WorkflowHandle): Promise<string[]> {
  const rows = await sql<{ line: string }>(
    `select format('%s %s [%s] %s', step_name, attempt, member_index, status) as line from workflow_steps
     where workflow_id = $1 and parent_step_id is not null order by parent_step_id, member_index`,
    [run.id],
  );
  return rows.map(({ line }) => line);
}

/** A run's events as a reader tells them: name, and what they say about the batch, without its id. */
export async function fanTrail(run: WorkflowHandle): Promise<string[]> {
  return (await run.events()).map(({ name, details }) => {
    const { batch_id: _id, ...rest } = details ?? {};
    return Object.keys(rest).length ? `${name} ${JSON.stringify(rest)}` : name;
  });
}

/** A run whose members are all at work, held until `release(n)`; then they end as `ending(n)` does. */
export async function atWork(
  { workflows }: Pick<TestApp, 'workflows'>,
  workflow: ReturnType<typeof fanning>,
  size: number,
  ending: (n: number) => unknown = () => undefined,
): Promise<{ readonly run: WorkflowHandle; readonly release: (...which: number[]) => void }> {
  const gates = Array.from({ length: size }, () => ({ reached: gate(), go: gate() }));
  const task = async (n: number) => {
    gates[n].reached.open();
    await gates[n].go.opened;
    await ending(n);
  };
  const run = await workflows.start(workflow, fanScript({ size, task }));
  await Promise.all(gates.map(({ reached }) => reached.opened));
  return { run, release: (...which) => which.forEach((n) => gates[n].go.open()) };
}

/** Waits until so many members of the run have ended. */
export function untilEnded({ sql, eventually }: Suite, run: WorkflowHandle, members: number): Promise<void> {
  return eventually(
    async () => (await membersOf(sql, run)).filter((line) => /completed|failed/.test(line)).length === members,
    `${members} members have ended`,
  );
}
