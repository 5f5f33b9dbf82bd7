import {
  InvalidTransitionError,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { workflowSuite, type TestApp } from './support/suite';

const SECONDS = 8;
const WORKERS = 3;
const VERB_CLIENTS = 4;
/** Runs that are under way at once, at most. */
const UNDER_WAY = 300;

/** How often the body of each attempt was executed, whichever worker did. */
const executions = new Map<string, number>();

function note({ attemptIdempotencyKey }: StepContext): void {
  executions.set(attemptIdempotencyKey, (executions.get(attemptIdempotencyKey) ?? 0) + 1);
}

class Hiccup extends Error {}

/** Every way a step is claimed and settled: in sets, in place, guarded, transactional, after a wait, and tried again. */
@Workflow({ onException: { matching: Hiccup, action: 'reattempt', wait: 5, report: 'never' } })
class Busy extends WorkflowOf<null, { number: number }> {
  @Step()
  async plain(ctx: Ctx<this>) {
    note(ctx);
    ctx.output({ number: ctx.args.number });
  }

  @Step()
  async inPlace(ctx: Ctx<this>) {
    note(ctx);
    await new Promise(setImmediate);
  }

  @Step({ skipIf: ({ args }) => (args as { number: number }).number % 3 === 0 })
  async guarded(ctx: Ctx<this>) {
    note(ctx);
  }

  @Step({ wait: 20 })
  async stumbling(ctx: Ctx<this>) {
    note(ctx);
    if (ctx.args.number % 4 === 0 && ctx.attempt === 1) throw new Hiccup('once');
  }

  @Step({ transactional: true, jobOptions: { priority: 1 } })
  async transactional(ctx: Ctx<this>) {
    note(ctx);
    await ctx.manager.query('select 1');
  }

  @Step({ jobOptions: { queue: 'last' } })
  async last(ctx: Ctx<this>) {
    note(ctx);
    if (ctx.args.number % 10 === 0) ctx.pause();
  }
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)];

/** What people and programs do to a run; resume more often, so that most runs get on. */
const VERBS: readonly ((run: WorkflowHandle) => Promise<unknown>)[] = [
  (run) => run.pause(),
  (run) => run.resume(),
  (run) => run.resume(),
  (run) => run.runNow(),
  (run) => run.reschedule(new Date(Date.now() + Math.random() * 300 - 100)),
  (run) => (Math.random() < 0.2 ? run.cancel() : run.resume()),
];

describe('under stress', () => {
  const suite = workflowSuite();

  test(
    'three workers, four clients issuing verbs and a starter: no deadlock, nothing executed twice, nothing left behind',
    async () => {
      const apps = await Promise.all(Array.from({ length: WORKERS }, () => suite.boot([Busy], { poolSize: 8 })));
      const client = await suite.boot([Busy], { poolSize: 8, worker: false });
      const until = performance.now() + SECONDS * 1_000;

      const runs: WorkflowHandle[] = [];
      await Promise.all([
        startRuns(client, runs, until),
        ...Array.from({ length: VERB_CLIENTS }, () => issue(runs, until)),
      ]);
      await drain(client, runs);

      await Promise.all([...apps, client].map((app) => app.close()));
      expect(apps.flatMap(({ reported }) => reported)).toEqual([]);
      await expectNoDeadlock();
      await expectOnceEach();
    },
    (SECONDS + 60) * 1_000,
  );

  /** Starts runs in batches, as many as keep the workers busy. */
  async function startRuns({ workflows }: TestApp, runs: WorkflowHandle[], until: number): Promise<void> {
    while (performance.now() < until) {
      const [row] = await suite.sql<{ open: number }>(
        'select count(*)::int as open from workflows where ended_at is null',
      );
      if (row.open < UNDER_WAY) {
        const inputs = Array.from({ length: 25 }, (_, index) => ({ args: { number: runs.length + index } }));
        runs.push(...(await workflows.startMany(Busy, inputs)));
      } else {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  /** One client: verbs on runs that are probably under way, as fast as they are answered. */
  async function issue(runs: readonly WorkflowHandle[], until: number): Promise<void> {
    while (performance.now() < until) {
      const run = pick(runs.slice(-UNDER_WAY));
      if (run) {
        await pick(VERBS)(run).catch((error: unknown) => {
          if (!(error instanceof InvalidTransitionError)) throw error;
        });
      } else {
        await new Promise(setImmediate);
      }
    }
  }

  /** Resumes what is paused until every run has ended: as long as one more does now and then, for a machine may be slow. */
  async function drain({ workflows }: TestApp, runs: readonly WorkflowHandle[]): Promise<void> {
    const fewerThan = async (before: number): Promise<number> => {
      let now = before;
      await suite.eventually(async () => {
        const open = await suite.sql<{ id: string; status: string }>(
          'select id, status from workflows where ended_at is null',
        );
        for (const { id, status } of open) if (status === 'paused') await (await workflows.find(id)).resume();
        now = open.length;
        return now < before;
      }, `one more of ${before} runs has ended`);
      return now;
    };
    let open = await fewerThan(runs.length + 1);
    while (open > 0) open = await fewerThan(open);
    expect(runs.length).toBeGreaterThan(UNDER_WAY);
  }

  async function expectNoDeadlock(): Promise<void> {
    const [row] = await suite.sql('select deadlocks::int from pg_stat_database where datname = current_database()');
    expect(row).toEqual({ deadlocks: 0 });
  }

  async function expectOnceEach(): Promise<void> {
    const finished = await suite.sql<{ steps: string }>(
      `select string_agg(step_name, ' ' order by step_name) as steps from workflow_steps s join workflows w on w.id = s.workflow_id
       where w.status = 'finished' and (s.status = 'completed' or s.status = 'skipped') group by w.id`,
    );
    expect(finished.length).toBeGreaterThan(0);
    expect(new Set(finished.map(({ steps }) => steps))).toEqual(
      new Set(['guarded inPlace last plain stumbling transactional']),
    );

    const claimed = await suite.sql<{ key: string; claims: number }>(
      `select 'wf:' || workflow_id || ':' || step_name || ':' || attempt as key, claim_no as claims from workflow_steps`,
    );
    const rows = new Map(claimed.filter(({ claims }) => claims > 0).map(({ key, claims }) => [key, claims]));
    expect(rows).toEqual(new Map([...rows.keys()].map((key) => [key, 1])));
    expect(executions).toEqual(rows);
  }
});
