import { randomUUID } from 'node:crypto';
import { Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { gate } from './suite';

type StepName = 'one' | 'two' | 'three';
type Body = (ctx: StepContext) => unknown;
type Script = Partial<Record<StepName, Body>>;

const scripts = new Map<string, Script>();

function perform(ctx: StepContext): unknown {
  return scripts.get(ctx.args.script)?.[ctx.stepName as StepName]?.(ctx);
}

/** Three steps, whose bodies each run brings with it: `start(Scripted, script({ two: (ctx) => ctx.pause() }))`. */
@Workflow()
export class Scripted extends WorkflowOf<null, { script: string }> {
  @Step()
  async one(ctx: Ctx<this>) {
    await perform(ctx);
  }

  @Step()
  async two(ctx: Ctx<this>) {
    await perform(ctx);
  }

  @Step()
  async three(ctx: Ctx<this>) {
    await perform(ctx);
  }
}

/** Options of a start whose steps have these bodies; a step that is not named does nothing. */
export function script(bodies: Script): { args: { script: string } } {
  const key = randomUUID();
  scripts.set(key, bodies);
  return { args: { script: key } };
}

/** A body that tells when it runs, and then waits: it ends as `ending` does (default: it returns) once it is released. */
export function held(ending: Body = () => undefined) {
  const reached = gate<StepContext>();
  const released = gate();
  return {
    /** Its context, once it runs. */
    reached: reached.opened,
    release: () => released.open(),
    body: async (ctx: StepContext) => {
      reached.open(ctx);
      await released.opened;
      await ending(ctx);
    },
  };
}
