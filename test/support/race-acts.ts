import { InvalidTransitionError, WorkflowError } from 'nestjs-pg-workflows';
import { fireDeadline } from '../../libs/workflow/src/engine/deadline';
import { join } from '../../libs/workflow/src/engine/join';
import { declareStalled } from '../../libs/workflow/src/engine/stall';
import type { Staged } from './race-scenes';
import type { Side } from './race-sides';
import type { Suite } from './suite';

export const ACTS = [
  'claim',
  'settle',
  'pause',
  'resume',
  'cancel',
  'signal',
  'timeout',
  'stall',
  'join',
  'rerun',
] as const;
export type ActName = (typeof ACTS)[number];

/** What an act did to each run, in their order: `done`, `nothing`, or who refused it. */
export type Answers = string[];

/** These pass a run by that somebody holds, for their next look; the others wait for its lock. */
export const PASSES_BY: ReadonlySet<ActName> = new Set(['claim', 'timeout', 'stall']);

/** These may be legal once the first was done, and not before. */
export const ENABLES: Partial<Record<ActName, readonly ActName[]>> = {
  settle: ['claim', 'resume', 'rerun'],
  pause: ['resume'],
  resume: ['claim', 'settle', 'timeout', 'join', 'pause'],
  cancel: ['rerun'],
  signal: ['claim'],
  timeout: ['claim', 'resume', 'rerun'],
  stall: ['claim', 'resume', 'rerun'],
  join: ['claim', 'resume', 'rerun'],
  rerun: ['claim'],
};

export function applies(act: ActName, { ending }: { readonly ending?: string }): boolean {
  return (act !== 'settle' && act !== 'stall') || ending !== undefined;
}

/** Makes everything ready, so that what it returns is nothing but the act itself, on each of the runs. */
export async function readyTo(
  act: ActName,
  side: Side,
  staged: readonly Staged[],
  sql: Suite['sql'],
): Promise<() => Promise<Answers>> {
  if (act === 'claim') return readyToClaim(side, staged, sql);
  const calls = await Promise.all(staged.map((one) => readyForOne(act, side, one)));
  return () => Promise.all(calls.map((call) => call().catch(refusal)));
}

/** As a worker claims: whatever is due, in one set. Of the runs that are not in this race it leaves the rows alone. */
async function readyToClaim(side: Side, staged: readonly Staged[], sql: Suite['sql']) {
  const ids = staged.map(({ run }) => run.id);
  const others = await sql<{ id: string }>(
    `select s.id from workflow_steps s join workflows w on w.id = s.workflow_id
     where s.status = 'scheduled' and w.id <> all($1) and coalesce(w.rerun_of, w.id) <> all($1)`,
    [ids],
  );
  return async () => {
    const taken = new Set(await side.claim(others.map(({ id }) => id)));
    const reruns = await sql<{ rerun_of: string }>(
      'select rerun_of from workflows where id = any($1) and rerun_of is not null',
      [[...taken]],
    );
    for (const { rerun_of } of reruns) taken.add(rerun_of);
    return ids.map((id) => (taken.has(id) ? 'done' : 'nothing'));
  };
}

async function readyForOne(act: Exclude<ActName, 'claim'>, side: Side, staged: Staged): Promise<() => Promise<string>> {
  const { parts } = side;
  const of = { id: staged.stepId, workflowId: staged.run.id };
  const done = (did: boolean) => (did ? 'done' : 'nothing');
  switch (act) {
    case 'settle':
      return async () => (await side.settlements.settle(staged.attempt!, staged.outcome!)).settlement;
    case 'timeout':
      return async () => done((await fireDeadline(parts, of)).fired);
    case 'stall': {
      const own = { ...parts, settings: { ...parts.settings, stallAction: staged.stallAction } };
      const { claimNo } = staged.attempt!.row;
      return async () => done((await declareStalled(own, { ...of, claimNo }, 'lease')).stalled);
    }
    case 'join':
      return async () => done((await join(parts, of)) !== null);
    case 'signal': {
      const run = await side.app.workflows.find(of.workflowId);
      return async () => (await run.signal('go')).status;
    }
    case 'pause':
    case 'resume':
    case 'cancel':
    case 'rerun': {
      const run = await side.app.workflows.find(of.workflowId);
      return async () => {
        await run[act]();
        return 'done';
      };
    }
  }
}

/** An error that a caller may expect, in words; any other is a finding, and is shown whole. */
function refusal(error: unknown): string {
  if (error instanceof InvalidTransitionError) return `${error.constructor.name}: ${error.verb} while ${error.status}`;
  if (error instanceof WorkflowError) return error.constructor.name;
  return `unexpected ${error instanceof Error ? error.stack : String(error)}`;
}
