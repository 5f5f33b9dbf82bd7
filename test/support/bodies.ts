import { randomUUID } from 'node:crypto';
import type { StepContext } from 'nestjs-pg-workflows';

type Body = (ctx: StepContext) => unknown;

const bodies = new Map<string, Body>();

/** Options of a start whose step has this body: one that calls {@link runBody}. */
export function body(of: Body): { args: { key: string } } {
  const key = randomUUID();
  bodies.set(key, of);
  return { args: { key } };
}

/** The body that the run was started with. */
export function runBody(ctx: StepContext): unknown {
  return bodies.get((ctx.args as { key: string }).key)!(ctx);
}
