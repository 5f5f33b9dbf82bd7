import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobHandler,
} from 'nestjs-pg-workflows';
import { Connection } from '../libs/workflow/src/store/connection';
import { gate, workflowSuite } from './support/suite';

const MEMBERS = 20_000;
const MB = 1024 * 1024;

let performed = 0;
/** Opens when all have been performed. */
let all = gate();

@WorkflowJob()
class Count implements JobHandler<{ n: number; text: string }> {
  async perform() {
    performed += 1;
    if (performed === MEMBERS) all.open();
  }
}

@Workflow()
class Large extends WorkflowOf<null, { members: number; bytes: number }> {
  @FanOut()
  async fan({ args }: Ctx<this>, batch: FanOutBatch) {
    for (let n = 0; n < args.members; n += 1) batch.add(Count, { n, text: 'x'.repeat(args.bytes) });
  }

  @Step()
  async after() {}
}

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heap = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

describe('large batches', () => {
  const suite = workflowSuite();

  test('FAN-02 FAN-05 20,000 members: statements and memory grow with the members, not faster', async () => {
    const { workflows } = await suite.boot([Large, Count], { worker: { concurrency: 500 } });
    const statements = jest.spyOn(Connection.prototype, 'run');
    const counts = () => {
      const count = new Map<string, number>();
      for (const [{ name }] of statements.mock.calls) count.set(name, (count.get(name) ?? 0) + 1);
      statements.mockClear();
      return (name: string) => count.get(`wf_${name}`) ?? 0;
    };
    try {
      const small = await workflows.start(Large, { args: { members: 500, bytes: 10 } });
      await suite.until(small, 'finished');
      counts();
      performed = 0;
      all = gate();
      const before = heap();
      const run = await workflows.start(Large, { args: { members: MEMBERS, bytes: 10 } });
      await all.opened;
      await suite.until(run, 'finished');

      expect(performed).toBe(MEMBERS);
      const sent = counts();
      expect(sent('open_members')).toBe(MEMBERS / 5_000);
      expect(sent('park_batch')).toBe(1);
      // Settled in sets, each followed by one question; the members are counted once, by whoever joins.
      expect(sent('settle_members')).toBeLessThan(MEMBERS / 20);
      expect(sent('open_member')).toBeLessThanOrEqual(sent('settle_members') + 2 * sent('count_members'));
      expect(sent('count_members')).toBeLessThanOrEqual(2);
      expect(heap() - before).toBeLessThan(40 * MB);
      const [{ completed }] = await suite.sql<{ completed: number }>(
        `select count(*)::int as completed from workflow_steps where workflow_id = $1 and member_index >= 0 and status = 'completed'`,
        [run.id],
      );
      expect(completed).toBe(MEMBERS);
    } finally {
      statements.mockRestore();
    }
  }, 120_000);

  test('FAN-02 members with large arguments open in statements of a few megabytes', async () => {
    const { workflows } = await suite.boot([Large, Count]);
    const statements = jest.spyOn(Connection.prototype, 'run');
    try {
      const run = await workflows.start(Large, { args: { members: 100, bytes: 120_000 } });
      await suite.until(run, 'finished');
      const sizes = statements.mock.calls
        .filter(([{ name }]) => name === 'wf_open_members')
        .map(([, values]) => (values[6] as string[]).join('').length);
      expect(sizes.length).toBeGreaterThanOrEqual(3);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(4 * MB);
    } finally {
      statements.mockRestore();
    }
  });
});
