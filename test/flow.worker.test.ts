import {
  CancelIf,
  step,
  Step,
  StepTimedOutError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { body, runBody } from './support/bodies';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

@Workflow()
class Bounded extends WorkflowOf<null, { key: string }> {
  @Step({ timeout: 50 })
  async only(ctx: Ctx<this>) {
    await runBody(ctx);
  }
}

@Workflow()
class BoundedTransactional extends WorkflowOf<null, { key: string }> {
  @Step({ timeout: 50, transactional: true })
  async only(ctx: Ctx<this>) {
    await runBody(ctx);
  }
}

let inside = 0;
let most = 0;

/** Counts how many bodies are at work at once: some turns of the event loop and a query long. */
async function occupy(ctx: StepContext) {
  inside += 1;
  most = Math.max(most, inside);
  await ctx.manager.query('select pg_sleep(0.002)');
  inside -= 1;
}

@Workflow()
class CountedPlain extends WorkflowOf {
  @Step() async one(ctx: Ctx<this>) {
    await occupy(ctx);
  }
  @Step() async two(ctx: Ctx<this>) {
    await occupy(ctx);
  }
}

@Workflow()
class CountedGuarded extends WorkflowOf {
  @CancelIf() async guard(ctx: Ctx<this>) {
    await occupy(ctx);
  }
  @Step() async one(ctx: Ctx<this>) {
    await occupy(ctx);
  }
  @Step({ transactional: true }) async two(ctx: Ctx<this>) {
    await occupy(ctx);
  }
}

const order: string[] = [];
let many0: ReturnType<typeof held>;

/** Forty steps, due at once one after the other. */
@Workflow({
  jobOptions: { priority: 5 },
  steps: Array.from({ length: 40 }, (_, index) =>
    step(`step_${index}`, async (ctx) => {
      order.push(`many ${index}`);
      if (index === 0) await many0.body(ctx);
    }),
  ),
})
class ManySteps extends WorkflowOf {}

@Workflow({ jobOptions: { priority: 5 } })
class Equal extends WorkflowOf {
  @Step() async only() {
    order.push('equal');
  }
}

@Workflow({ jobOptions: { priority: 1 } })
class Urgent extends WorkflowOf {
  @Step() async only() {
    order.push('urgent');
  }
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

describe('abort, time-outs and concurrency', () => {
  const suite = workflowSuite();

  const untilLate = (run: WorkflowHandle) =>
    suite.eventually(async () => (await suite.trail(run)).includes('late_completion_ignored'), 'the outcome came');

  test('FLOW-18 a cancel aborts the signal of the body at work', async () => {
    const { workflows } = await suite.boot([Scripted]);
    const one = held();
    const run = await workflows.start(Scripted, script({ one: one.body }));
    const ctx = await one.reached;
    expect(ctx.abortSignal.aborted).toBe(false);
    const aborted = new Promise((resolve) => ctx.abortSignal.addEventListener('abort', resolve));
    await run.cancel();
    await aborted;
    expect((ctx.abortSignal.reason as Error).message).toMatch(/cancelled/);
    one.release();
    await untilLate(run);
  });

  test('FLOW-18 a cancel issued by another process aborts it too', async () => {
    const { workflows } = await suite.boot([Scripted]);
    const other = await suite.boot([Scripted], { worker: false });
    const one = held();
    const run = await workflows.start(Scripted, script({ one: one.body }));
    const { abortSignal } = await one.reached;
    const aborted = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
    await (await other.workflows.find(run.id)).cancel();
    await aborted;
    expect(abortSignal.aborted).toBe(true);
    one.release();
    await untilLate(run);
  });

  test('FLOW-18 a cancel in a transaction aborts at its commit, and not at a rollback', async () => {
    const { workflows, dataSource } = await suite.boot([Scripted]);
    const one = held();
    const run = await workflows.start(Scripted, script({ one: one.body }));
    const { abortSignal } = await one.reached;
    const undone = new Error('rolled back');
    await expect(
      dataSource.transaction(async (manager) => {
        await run.cancel({ manager });
        throw undone;
      }),
    ).rejects.toBe(undone);
    expect(abortSignal.aborted).toBe(false);
    const aborted = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
    await dataSource.transaction(async (manager) => {
      await (await workflows.find(run.id)).cancel({ manager });
      expect(abortSignal.aborted).toBe(false);
    });
    await aborted;
    one.release();
    await untilLate(run);
  });

  test('FLOW-18 a resumeAt that takes the place of a body at work aborts it, a pause does not', async () => {
    const { workflows } = await suite.boot([Scripted]);
    const one = held();
    const run = await workflows.start(
      Scripted,
      script({ one: (ctx) => (ctx.attempt === 1 ? one.body(ctx) : undefined) }),
    );
    const { abortSignal } = await one.reached;
    await run.pause();
    expect(abortSignal.aborted).toBe(false);
    const aborted = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
    await run.resumeAt('one');
    await aborted;
    one.release();
    await suite.until(run, 'finished');
    await untilLate(run);
  });

  test('FLOW-18 at its time-out the signal aborts with StepTimedOutError, which goes to the policies when thrown', async () => {
    const { workflows, reported } = await suite.boot([Bounded]);
    const run = await workflows.start(
      Bounded,
      body(
        ({ abortSignal }) =>
          new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason))),
      ),
    );
    await suite.until(run, 'paused');
    expect(await attempts(run)).toEqual(['only#1 failed, paused: StepTimedOutError']);
    expect(reported).toEqual([expect.objectContaining({ error: expect.any(StepTimedOutError) })]);
  });

  test('FLOW-18 a body that passes its time-out and ends all the same has its outcome', async () => {
    const { workflows } = await suite.boot([Bounded]);
    const run = await workflows.start(
      Bounded,
      body(({ abortSignal }) => new Promise((resolve) => abortSignal.addEventListener('abort', resolve))),
    );
    await suite.until(run, 'finished');
    expect(await attempts(run)).toEqual(['only#1 completed']);
  });

  test('FLOW-18 bodies that never settle give their slots back after their time-out, and do not hold up a stop', async () => {
    const app = await suite.boot([Bounded, BoundedTransactional, Scripted], {
      worker: { concurrency: 2, shutdownGrace: 50 },
    });
    const reasons: unknown[] = [];
    const never = body(({ abortSignal }) => {
      abortSignal.addEventListener('abort', () => reasons.push(abortSignal.reason));
      return new Promise(() => undefined);
    });
    const stuck = await app.workflows.start(Bounded, never);
    const transactional = await app.workflows.start(BoundedTransactional, never);
    for (const run of [stuck, transactional]) await suite.until(run, 'performing');
    const other = await app.workflows.start(Scripted, script({}));
    await suite.until(other, 'finished');
    await suite.eventually(() => reasons.length === 2, 'both were asked to stop');
    expect(reasons).toEqual([expect.any(StepTimedOutError), expect.any(StepTimedOutError)]);
    // The server ended its transaction: no outcome could commit any more.
    await suite.until(transactional, 'paused');
    const [{ error }] = await transactional.steps();
    expect(error).toMatchObject({ message: expect.stringContaining('took longer than its timeout') });
    await app.close();
    // Its row is the sweep's to judge.
    await suite.until(stuck, 'performing');
  });

  test('FLOW-17 a transactional body that never settles gives its connection back, and guarded steps go on', async () => {
    const { workflows } = await suite.boot([BoundedTransactional, CountedGuarded], {
      poolSize: 2,
      worker: { shutdownGrace: 50 },
    });
    const stuck = await workflows.start(
      BoundedTransactional,
      body(() => new Promise(() => undefined)),
    );
    await suite.until(stuck, 'performing');
    const guarded = await workflows.start(CountedGuarded);
    await suite.until(stuck, 'paused');
    await suite.until(guarded, 'finished');
    expect(await attempts(stuck)).toEqual(['only#1 failed, paused: StepTimedOutError']);
  });

  test.each([1, 3])(
    'DEF-20 worker.concurrency %d is kept to the unit, by plain, guarded and transactional steps',
    async (concurrency) => {
      inside = 0;
      most = 0;
      const { workflows } = await suite.boot([CountedPlain, CountedGuarded], { worker: { concurrency } });
      const runs = [
        ...(await workflows.startMany(
          CountedPlain,
          times(12, () => ({})),
        )),
        ...(await workflows.startMany(
          CountedGuarded,
          times(12, () => ({})),
        )),
      ];
      for (const run of runs) await suite.until(run, 'finished');
      expect(most).toBe(concurrency);
    },
  );

  test('DEF-16 a run that goes on in place gives way to a more urgent row as soon as its step has ended', async () => {
    order.length = 0;
    many0 = held();
    const { workflows } = await suite.boot([ManySteps, Urgent], { worker: { concurrency: 1 } });
    const many = await workflows.start(ManySteps);
    await many0.reached;
    const urgent = await workflows.start(Urgent);
    many0.release();
    for (const run of [many, urgent]) await suite.until(run, 'finished');
    expect(order.slice(0, 3)).toEqual(['many 0', 'urgent', 'many 1']);
  });

  test('FLOW-14 a run of 40 steps goes on in place, lets an equal one in after a while, and comes to its end', async () => {
    order.length = 0;
    many0 = held();
    const { workflows } = await suite.boot([ManySteps, Equal], { worker: { concurrency: 1 } });
    const many = await workflows.start(ManySteps);
    await many0.reached;
    const equal = await workflows.start(Equal);
    many0.release();
    for (const run of [many, equal]) await suite.until(run, 'finished');
    expect(order.indexOf('equal')).toBeGreaterThan(1);
    expect(order.indexOf('equal')).toBeLessThan(40);
    const steps = Array.from({ length: 40 }, (_, index) => `many ${index}`);
    expect(order.filter((line) => line !== 'equal')).toEqual(steps);
    expect(await suite.trail(many)).toHaveLength(1 + 40 * 3 + 1);
  });
});
