import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ConsoleLogger, Logger } from '@nestjs/common';
import {
  currentStep,
  Step,
  StepLogger,
  stepLogFields,
  Workflow,
  WorkflowOf,
  WorkflowService,
  type Ctx,
} from 'nestjs-pg-workflows';
import { gate, workflowSuite } from './support/suite';

@Workflow({ name: 'Child' })
class Child extends WorkflowOf {
  static seen: unknown[] = [];

  @Step()
  async only() {
    await nextTurn();
    Child.seen.push(currentStep()?.workflowName);
    throw new RangeError('the child fails');
  }
}

/** What its body does, one run at a time. */
@Workflow({ name: 'Parent' })
class Parent extends WorkflowOf<null, { number?: number }> {
  static body: (ctx: Ctx<Parent>, workflows: WorkflowService) => Promise<unknown> = async () => undefined;

  constructor(private readonly workflows: WorkflowService) {
    super();
  }

  @Step()
  async first(ctx: Ctx<this>) {
    await Parent.body(ctx, this.workflows);
  }

  @Step()
  async second() {}
}

/** One attempt for each way to end. */
@Workflow({
  onException: [
    { matching: RangeError, action: 'cancel' },
    { matching: SyntaxError, action: 'skip' },
  ],
})
class Ends extends WorkflowOf<null, { how: string }> {
  @Step({ onException: [{ matching: TypeError, action: 'reattempt', wait: 0, maxReattempts: 1 }] })
  async work(ctx: Ctx<this>) {
    const errors: Record<string, ErrorConstructor> = { RangeError, SyntaxError, TypeError, Error };
    throw new errors[ctx.args.how]('fails');
  }
}

describe('what the log says of steps', () => {
  const suite = workflowSuite();
  const { until } = suite;

  /** A line of the package's own, wherever something is started: a subscriber that throws. */
  const throwing = () => {
    throw new Error('the subscriber broke');
  };
  const lines: string[] = [];

  beforeEach(() => {
    lines.length = 0;
    Child.seen.length = 0;
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line) => void lines.push(String(line)));
    subscribe('workflow.started', throwing);
  });

  afterEach(() => {
    unsubscribe('workflow.started', throwing);
    jest.restoreAllMocks();
  });

  test("MET-16 the package's own lines say which step's code runs; outside a step they do not", async () => {
    const { workflows } = await suite.boot([Parent, Child]);
    Parent.body = async (_ctx, service) => service.start(Child);
    const run = await workflows.start(Parent, { args: {} });
    await until(run, 'finished');
    const told = lines.filter((line) => line.includes('the subscriber broke'));
    expect(told).toHaveLength(2);
    expect(told[0]).toMatch(/^A subscriber of the channel "workflow.started" threw/);
    expect(told[1]).toMatch(
      new RegExp(`^workflow=${run.id} step=first attempt=1 A subscriber of the channel "workflow.started" threw`),
    );
  });

  test('MET-16 MET-17 what a body sets going is no part of its step', async () => {
    let context: unknown = 'not told';
    const { workflows } = await suite.boot([Parent, Child], {
      errorReporter: { report: () => void (context = currentStep()) },
      // So that the child is claimed because it was announced, in the course of the parent's body.
      worker: { pollInterval: '1m' },
    });
    Parent.body = async (_ctx, service) => {
      const child = await service.start(Child);
      await until(child, 'paused');
    };
    const run = await workflows.start(Parent, { args: {} });
    await until(run, 'finished');
    expect(Child.seen).toEqual(['Child']);
    await suite.eventually(() => context !== 'not told', "the child's failure is reported");
    expect(context).toBeUndefined();
  });

  test("MET-17 currentStep is a body's own in all that it awaits, beside 40 others", async () => {
    const { workflows } = await suite.boot([Parent], { worker: { concurrency: 50 } });
    const runs = 40;
    const all = gate();
    let entered = 0;
    const wrong: unknown[] = [];
    Parent.body = async (ctx) => {
      const look = (where: string) => {
        const step = currentStep();
        if (step?.workflowId !== ctx.workflowId || step.stepName !== 'first' || step.attempt !== 1) {
          wrong.push([where, ctx.workflowId, step]);
        }
      };
      look('at once');
      entered += 1;
      if (entered === runs) all.open();
      await all.opened;
      look('after a promise of another run');
      await Promise.all([1, 2, 3].map(async (ms) => sleep(ms).then(() => look('after a timer'))));
      await new Promise<void>((resolve) => setImmediate(() => resolve(look('in a callback'))));
      look('at the end');
    };
    const started = await workflows.startMany(
      Parent,
      Array.from({ length: runs }, (_, number) => ({ args: { number } })),
    );
    for (const run of started) await until(run, 'finished');
    expect(entered).toBe(runs);
    expect(wrong).toEqual([]);
    expect(currentStep()).toBeUndefined();
  });

  test('MET-16 StepLogger and stepLogFields say it of the lines of the application', async () => {
    const written: unknown[] = [];
    const inner = new ConsoleLogger();
    for (const level of ['log', 'warn', 'error'] as const)
      jest.spyOn(inner, level).mockImplementation((...line) => void written.push([level, ...line]));
    const logger = new StepLogger(inner);
    let fields: unknown;
    const { workflows } = await suite.boot([Parent]);
    Parent.body = async () => {
      fields = stepLogFields();
      logger.log('charging', 'Payments');
      logger.warn({ charge: 1 });
    };
    const run = await workflows.start(Parent, { args: {} });
    await until(run, 'finished');
    logger.error('outside');
    expect(written).toEqual([
      ['log', `workflow=${run.id} step=first attempt=1 charging`, 'Payments'],
      ['warn', { charge: 1 }],
      ['error', 'outside'],
    ]);
    expect(fields).toEqual({ workflow: run.id, workflow_class: 'Parent', step: 'first', attempt: 1 });
    expect(stepLogFields()).toEqual({});
  });

  test('MET-15 the error reporter is told class, run, step, attempt and outcome of each', async () => {
    const { workflows, reported } = await suite.boot([Ends]);
    const ends = { RangeError: 'cancelled', SyntaxError: 'skipped', Error: 'paused', TypeError: 'paused' };
    for (const [how, outcome] of Object.entries(ends)) {
      reported.length = 0;
      const run = await workflows.start(Ends, { args: { how } });
      await until(run, 'cancelled', 'finished', 'paused');
      const attempts = how === 'TypeError' ? ['reattempted', outcome] : [outcome];
      await suite.eventually(() => reported.length === attempts.length, `${how} is reported`);
      expect(reported.map(({ error }) => (error as Error).name)).toEqual(attempts.map(() => how));
      expect(reported.map(({ context }) => context)).toEqual(
        attempts.map((ended, place) => ({
          workflowClass: 'Ends',
          workflowId: run.id,
          stepName: 'work',
          attempt: place + 1,
          outcome: ended,
        })),
      );
    }
  });
});
