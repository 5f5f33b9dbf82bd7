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
  type StepContext,
} from 'nestjs-pg-workflows';
import { gate, workflowSuite } from './support/suite';

/** What is at work at once: bodies, guards and members. */
class Gauge {
  inside = 0;
  most = 0;
  readonly kinds = new Map<string, number>();
  private readonly reached = gate();

  constructor(private readonly limit: number) {}

  async occupy(kind: string, work: () => Promise<unknown>): Promise<void> {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
    if (this.inside >= this.limit) this.reached.open();
    await work();
    this.inside -= 1;
  }

  /** For what holds no connection: until as many as may be are at work, and then as long as one more needs to come in. */
  async wait(): Promise<void> {
    await this.reached.opened;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let gauge: Gauge;

const occupy = (kind: string) => gauge.occupy(kind, () => gauge.wait());
/** Holds its transaction's connection, so it waits for nobody. */
const query = (kind: string, ctx: StepContext) => gauge.occupy(kind, () => ctx.manager.query('select pg_sleep(0.002)'));

/** Three steps that are gone on with in place, one of them tried again. */
@Workflow()
class Plain extends WorkflowOf {
  @Step() async one() {
    await occupy('plain');
  }
  @Step() async two(ctx: Ctx<this>) {
    await occupy('in place');
    if (ctx.attempt === 1) ctx.reattempt();
  }
  @Step() async three() {
    await occupy('in place');
  }
}

@Workflow()
class Guarded extends WorkflowOf {
  @CancelIf() async unwanted(ctx: Ctx<this>) {
    await query('guard', ctx);
    return false;
  }
  @Step() async one() {
    await occupy('guarded');
  }
  @Step({ skipIf: 'skipped' }) async two() {
    await occupy('guarded');
  }
  async skipped(ctx: Ctx<this>) {
    await query('guard', ctx);
    return false;
  }
}

@Workflow()
class Transactional extends WorkflowOf {
  @Step({ transactional: true }) async one(ctx: Ctx<this>) {
    await query('transactional', ctx);
  }
  @Step() async two() {
    await occupy('plain');
  }
}

@WorkflowJob({ maxAttempts: 2, backoff: 0 })
class Errand implements JobHandler<{ n: number }> {
  private static readonly failed = new Set<number>();

  async perform({ n }: { n: number }) {
    await occupy('member');
    if (n % 3 !== 0 || Errand.failed.has(n)) return;
    Errand.failed.add(n);
    throw new Error('not yet');
  }
}

let numbers = 0;

@Workflow()
class Fans extends WorkflowOf {
  @FanOut() async fan(_: Ctx<this>, batch: FanOutBatch) {
    await occupy('fan-out');
    for (let index = 0; index < 6; index += 1) batch.add(Errand, { n: numbers++ });
  }
  @Step() async after() {
    await occupy('in place');
  }
}

const times = (count: number) => Array.from({ length: count }, () => ({}));

const KINDS = ['plain', 'in place', 'guard', 'guarded', 'transactional', 'fan-out', 'member'];

describe('concurrency', () => {
  const suite = workflowSuite();

  test.each([1, 3, 10])(
    'SWEEP-16 of %d slots all are used and never one more, by steps of every kind, guards and members together',
    async (concurrency) => {
      gauge = new Gauge(concurrency);
      const providers = [Plain, Guarded, Transactional, Fans, Errand];
      const starter = await suite.boot(providers, { worker: false });
      const { workflows } = starter;
      const runs = [
        ...(await workflows.startMany(Plain, times(12))),
        ...(await workflows.startMany(Guarded, times(4))),
        ...(await workflows.startMany(Transactional, times(4))),
        ...(await workflows.startMany(Fans, times(3))),
      ];
      await suite.boot(providers, { worker: { concurrency } });
      for (const run of runs) await suite.until(run, 'finished');
      expect(gauge.most).toBe(concurrency);
      expect([...gauge.kinds.keys()].toSorted()).toEqual(KINDS.toSorted());
    },
  );

  test('SWEEP-16 two workers have a limit each: rows in progress are never more than their slots together', async () => {
    gauge = new Gauge(5);
    const starter = await suite.boot([Plain], { worker: false });
    const runs = await starter.workflows.startMany(Plain, times(15));
    await suite.boot([Plain], { worker: { concurrency: 2 } });
    await suite.boot([Plain], { worker: { concurrency: 3 } });
    for (const run of runs) await suite.until(run, 'finished');
    expect(gauge.most).toBe(5);
  });
});
