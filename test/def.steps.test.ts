import {
  FanOut,
  FanOutBatch,
  RemovedStep,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  fanOut,
  matcher,
  removedStep,
  step,
  type Ctx,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { gate, workflowSuite, type Suite } from './support/suite';

const ran: string[] = [];
let hold = gate();
/** What the body of a step sees of its own run. */
let look: (workflowId: string) => Promise<unknown> = () => Promise.resolve();

@Workflow()
class FiveSteps extends WorkflowOf {
  @Step()
  async e(ctx: Ctx<this>) {
    ran.push(`e ${JSON.stringify(await look(ctx.workflowId))}`);
  }

  @Step()
  async d(ctx: Ctx<this>) {
    ran.push(`d ${JSON.stringify(await look(ctx.workflowId))}`);
  }

  @Step({ skipIf: () => false })
  async c(ctx: Ctx<this>) {
    ran.push(`c ${JSON.stringify(await look(ctx.workflowId))}`);
  }

  @Step({ transactional: true })
  async b(ctx: Ctx<this>) {
    ran.push(`b ${JSON.stringify(await look(ctx.workflowId))}`);
    if (ctx.attempt === 1) ctx.reattempt();
  }

  @Step({ wait: 20 })
  async a(ctx: Ctx<this>) {
    ran.push(`a ${JSON.stringify(await look(ctx.workflowId))}`);
  }
}

@Workflow({
  steps: [
    step(function (this: AllForms) {
      ran.push(`anonymous of ${this.greeting}`);
    }),
    step('named', async (ctx) => void ran.push(ctx.stepName)),
    removedStep('buried'),
    step('later'),
    step(async (ctx) => void ran.push(ctx.stepName)),
    step('put first', (ctx) => void ran.push(ctx.stepName), { before: 'decorated' }),
  ],
})
class AllForms extends WorkflowOf {
  readonly greeting = 'the workflow';

  @Step()
  async decorated(ctx: Ctx<this>) {
    ran.push(ctx.stepName);
  }

  @RemovedStep() gone?: never;

  later(ctx: Ctx<this>) {
    ran.push(ctx.stepName);
  }
}

const note = (ctx: { workflowName: string; stepName: string; args: { name?: string } }) =>
  void ran.push(ctx.args.name ?? `${ctx.workflowName} ${ctx.stepName}`);

@Workflow({ jobOptions: { queue: 'mail', priority: 4 } })
class Mailing extends WorkflowOf {
  @Step()
  async inherited(ctx: Ctx<this>) {
    note(ctx);
  }

  @Step({ jobOptions: { queue: 'print' } })
  async printed(ctx: Ctx<this>) {
    note(ctx);
  }

  @Step({ jobOptions: { queue: 'mail', priority: -1 } })
  async urgent(ctx: Ctx<this>) {
    note(ctx);
  }
}

@Workflow({ steps: [step('only', note)] })
class Plain extends WorkflowOf<null, { name?: string }> {}

@Workflow({ steps: [step('only', note, { jobOptions: { priority: 5 } })] })
class Low extends WorkflowOf<null, { name?: string }> {}

@Workflow({ steps: [step('only', note, { jobOptions: { priority: -3 } })] })
class High extends WorkflowOf<null, { name?: string }> {}

@Workflow()
class Blocker extends WorkflowOf {
  @Step()
  async block() {
    ran.push('blocked');
    await hold.opened;
  }
}

const IN_AN_HOUR = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000);

/** Named for what its second step is due after; the first one has the same options. */
function due(name: string, wait: number, jobOptions: { wait?: number; waitUntil?: Date }) {
  @Workflow({ name, steps: [step('first', note, { wait, jobOptions }), step('second', note, { wait, jobOptions })] })
  class Due extends WorkflowOf {}
  return Due;
}
const WaitWins = due('WaitWins', 120_000, { wait: 60_000, waitUntil: new Date(0) });
const HoldBackWins = due('HoldBackWins', 60_000, { wait: 120_000 });
const MomentWins = due('MomentWins', 60_000, { wait: 120_000, waitUntil: IN_AN_HOUR });
const PastMoment = due('PastMoment', 0, { waitUntil: new Date('2001-01-01') });

describe('steps of a workflow class, run', () => {
  // Registered first: a body that still waits would keep the application from closing.
  afterEach(() => hold.open());

  const suite: Suite = workflowSuite();
  const queuesOf = (run: WorkflowHandle) =>
    suite.sql('select step_name, queue, priority from workflow_steps where workflow_id = $1 order by id', [run.id]);

  beforeEach(async () => {
    ran.length = 0;
    hold = gate();
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('DEF-01 steps run in declared order, each attempt claimed by itself, never two open or in progress at once', async () => {
    // Two workers, so that the order is nobody's habit.
    const [app] = await Promise.all([suite.boot([FiveSteps]), suite.boot([FiveSteps])]);
    look = (id) =>
      suite
        .sql(
          `select count(*) filter (where status = 'in_progress')::int as busy,
                  count(*) filter (where status in ('scheduled', 'waiting', 'in_progress'))::int as open
           from workflow_steps where workflow_id = $1`,
          [id],
        )
        .then(([row]) => [row.busy, row.open]);
    const runs = await app.workflows.startMany(FiveSteps, [{}, {}, {}, {}, {}]);
    for (const run of runs) {
      await suite.until(run, 'finished');
      const rows = await suite.sql(
        `select step_name || ' ' || attempt as attempt, claim_no, worker_id is not null as claimed,
                started_at >= coalesce(lag(finished_at) over (order by id), started_at) as after_the_last
         from workflow_steps where workflow_id = $1 order by id`,
        [run.id],
      );
      expect(rows).toEqual(
        ['e 1', 'd 1', 'c 1', 'b 1', 'b 2', 'a 1'].map((attempt) => ({
          attempt,
          claim_no: 1,
          claimed: true,
          after_the_last: true,
        })),
      );
    }
    expect(ran).toHaveLength(30);
    expect(ran.filter((line) => !line.endsWith(' [1,1]'))).toEqual([]);
  });

  test('DEF-02 all forms of a step may be mixed, and run', async () => {
    const { workflows } = await suite.boot([AllForms]);
    const run = await workflows.start(AllForms);
    await suite.until(run, 'finished');
    expect(ran).toEqual(['put first', 'decorated', 'anonymous of the workflow', 'named', 'later', 'step_2']);
    expect((await run.steps()).map(({ stepName }) => stepName)).toEqual([
      'put first',
      'decorated',
      'step_1',
      'named',
      'later',
      'step_2',
    ]);
    expect(await workflows.removedStepsInFlight(AllForms)).toEqual({ gone: 0, buried: 0 });
  });

  test('DEF-02 fan-outs, waits and plain steps of both forms may be mixed, and run in their order', async () => {
    const heard: string[] = [];
    @WorkflowJob()
    class Shout {
      async perform({ word }: { word: string }) {
        heard.push(word);
      }
    }
    @Workflow({
      steps: [
        fanOut('more', (_ctx, batch) => batch.add(Shout, { word: 'more' })),
        step('hear', (ctx) => void heard.push(ctx.receivedSignal.name), { waitFor: matcher('any', () => true) }),
      ],
    })
    class Mixed extends WorkflowOf {
      @FanOut()
      async spread(_ctx: Ctx<this>, batch: FanOutBatch) {
        batch.add(Shout, { word: 'spread' });
      }
    }
    const { workflows } = await suite.boot([Mixed, Shout]);
    const run = await workflows.start(Mixed);
    await suite.until(run, 'waiting');
    await run.signal('any');
    await suite.until(run, 'finished');
    expect(heard).toEqual(['spread', 'more', 'any']);
  });

  test("DEF-16 jobOptions give the row its queue and priority, the step's before the class's; else the setting's and 0", async () => {
    const { workflows } = await suite.boot([Mailing, Plain], { queue: 'house' });
    const run = await workflows.start(Mailing);
    await suite.until(run, 'finished');
    expect(await queuesOf(run)).toEqual([
      { step_name: 'inherited', queue: 'mail', priority: 4 },
      { step_name: 'printed', queue: 'print', priority: 4 },
      { step_name: 'urgent', queue: 'mail', priority: -1 },
    ]);
    const plain = await workflows.start(Plain);
    await suite.until(plain, 'finished');
    expect(await queuesOf(plain)).toEqual([{ step_name: 'only', queue: 'house', priority: 0 }]);
  });

  test('DEF-16 a worker serves the queues that it names and no others', async () => {
    const mail = await suite.boot([Mailing, Plain], { worker: { queues: ['mail'] } });
    const run = await mail.workflows.start(Mailing);
    await suite.eventually(
      async () => (await run.reload()).currentStep === 'printed',
      'the run is at its printed step',
    );
    // Later than the row that is left, in a queue that is served: it is not merely slow.
    const second = await mail.workflows.start(Mailing);
    await suite.eventually(async () => (await second.reload()).currentStep === 'printed', 'the other run is there too');
    expect(run.status).toBe('ready');
    expect(ran).toEqual(['Mailing inherited', 'Mailing inherited']);

    await suite.boot([Mailing, Plain], { worker: { queues: ['print', 'default'] } });
    await suite.until(run, 'finished');
    await suite.until(second, 'finished');
    const workers = await suite.sql(
      'select queue, count(distinct worker_id)::int as workers from workflow_steps group by queue order by queue',
    );
    expect(workers).toEqual([
      { queue: 'mail', workers: 1 },
      { queue: 'print', workers: 1 },
    ]);
    expect(await suite.sql('select count(distinct worker_id)::int as workers from workflow_steps')).toEqual([
      { workers: 2 },
    ]);
  });

  test('DEF-16 AMB-19 of the due rows of a queue a smaller priority runs first, ties by their due time', async () => {
    const { workflows } = await suite.boot([Plain, Low, High, Blocker], { worker: { concurrency: 1 } });
    await workflows.start(Blocker);
    await suite.eventually(() => ran.length === 1, 'the only slot is taken');
    const runs = [
      await workflows.start(Low, { args: { name: 'low 1' } }),
      await workflows.start(Plain, { args: { name: 'plain 1' } }),
      await workflows.start(High, { args: { name: 'high 1' } }),
      await workflows.start(Plain, { args: { name: 'plain 2' } }),
      await workflows.start(High, { args: { name: 'high 2' } }),
      await workflows.start(Low, { args: { name: 'low 2' } }),
      await workflows.start(Plain, { args: { name: 'plain 3' } }),
    ];
    // The last to be started is now due before the others of its priority.
    await suite.sql(`update workflow_steps set available_at = available_at - interval '1 minute', scheduled_at = scheduled_at - interval '1 minute'
      where workflow_id = $1`, [runs.at(-1)!.id]); // prettier-ignore
    hold.open();
    for (const run of runs) await suite.until(run, 'finished');
    expect(ran).toEqual(['blocked', 'high 1', 'high 2', 'plain 3', 'plain 1', 'plain 2', 'low 1', 'low 2']);
  });

  test('DEF-17 a row is due at the latest of wait, jobOptions.wait and jobOptions.waitUntil', async () => {
    const { workflows } = await suite.boot([WaitWins, HoldBackWins, MomentWins, PastMoment]);
    const heldBack = async (run: WorkflowHandle) => {
      const rows = await suite.sql<{ ms: string; at: Date }>(
        `select s.available_at as at, extract(epoch from s.available_at - coalesce(before.finished_at, w.created_at)) * 1000 as ms
         from workflow_steps s join workflows w on w.id = s.workflow_id
         left join workflow_steps before on before.workflow_id = w.id and before.id < s.id
         where w.id = $1 order by s.id`,
        [run.id],
      );
      return rows;
    };
    for (const [workflow, ms] of [
      [WaitWins, 120_000],
      [HoldBackWins, 120_000],
      [PastMoment, 0],
    ] as const) {
      const run = await workflows.start(workflow);
      if (ms) await run.runNow();
      await suite.eventually(async () => (await run.reload()).currentStep === 'second', 'the second step is scheduled');
      expect(Number((await heldBack(run)).at(-1)!.ms)).toBe(ms);
    }
    const run = await workflows.start(MomentWins);
    expect((await heldBack(run)).map(({ at }) => at)).toEqual([IN_AN_HOUR]);
    await run.runNow();
    await suite.eventually(async () => (await run.reload()).currentStep === 'second', 'the second step is scheduled');
    expect((await heldBack(run)).at(-1)!.at).toEqual(IN_AN_HOUR);
  });

  test('DEF-17 jobOptions.wait and waitUntil hold back the first row of a run too', async () => {
    const { workflows } = await suite.boot([WaitWins, HoldBackWins, PastMoment], { worker: false });
    for (const [workflow, ms] of [
      [WaitWins, 120_000],
      [HoldBackWins, 120_000],
      [PastMoment, 0],
    ] as const) {
      const run = await workflows.start(workflow);
      const [row] = await suite.sql(
        `select extract(epoch from s.available_at - w.created_at) * 1000 as ms, s.available_at = s.scheduled_at as same
         from workflow_steps s join workflows w on w.id = s.workflow_id where w.id = $1`,
        [run.id],
      );
      expect({ ...row, ms: Number(row.ms) }).toEqual({ ms, same: true });
    }
  });
});
