import { randomUUID } from 'node:crypto';
import {
  CancelIf,
  OnException,
  Step,
  Workflow,
  WorkflowOf,
  defineSignal,
  type Ctx,
  type StepContext,
} from 'nestjs-pg-workflows';
import type { Suite } from './suite';

export const Paid = defineSignal<{ amount?: number }>('paid');

type Body = (ctx: StepContext, error?: Error) => unknown;

/** What a run's guards and bodies do. Nothing named: guards let pass, bodies return. */
export interface SignalScript {
  cancelIf?: Body;
  /** Of `pay`. */
  skipIf?: Body;
  first?: Body;
  pay?: Body;
  /** Without it the step is skipped. */
  again?: Body;
  last?: Body;
  /** A policy's handler, for each `RangeError`. */
  handler?: Body;
}

const scripts = new Map<string, SignalScript>();

function play(part: keyof SignalScript, ctx: StepContext, error?: Error): unknown {
  return scripts.get(ctx.args.script)?.[part]?.(ctx, error);
}

/** `first`, then `pay` and (when the script has it) `again`, which wait for `paid`, then `last`. */
@Workflow()
export class Signalled extends WorkflowOf<null, { script: string }> {
  @CancelIf()
  cancelled(ctx: Ctx<this>) {
    return play('cancelIf', ctx);
  }

  @Step()
  async first(ctx: Ctx<this>) {
    await play('first', ctx);
  }

  @Step({ waitFor: Paid, skipIf: 'isSkipped' })
  async pay(ctx: Ctx<this, typeof Paid>) {
    await play('pay', ctx);
  }

  @Step({ waitFor: 'paid', skipIf: 'isPaidOnce' })
  async again(ctx: Ctx<this, 'paid'>) {
    await play('again', ctx);
  }

  @Step()
  async last(ctx: Ctx<this>) {
    await play('last', ctx);
  }

  isSkipped(ctx: Ctx<this>) {
    return play('skipIf', ctx);
  }

  isPaidOnce(ctx: Ctx<this>) {
    return !scripts.get(ctx.args.script)?.again;
  }

  @OnException(RangeError)
  async handle(error: RangeError, ctx: StepContext) {
    await play('handler', ctx, error);
  }
}

/** Options of a start whose guards and bodies are these. */
export function signalScript(parts: SignalScript = {}): { args: { script: string } } {
  const script = randomUUID();
  scripts.set(script, parts);
  return { args: { script } };
}

/** The run's signals, oldest first, one line each: `paid consumed by pay#2`, `paid pending`. */
export async function signalsOf(sql: Suite['sql'], run: { id: string }): Promise<string[]> {
  const rows = await sql<{ line: string }>(
    `select g.name || ' ' || g.status || coalesce(' by ' || s.step_name || '#' || s.attempt, '') as line
     from workflow_signals g left join workflow_steps s on s.id = g.claimed_by_step_id
     where g.workflow_id = $1 order by g.id`,
    [run.id],
  );
  return rows.map(({ line }) => line);
}
