import {
  CancelIf,
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobContext,
  type JobHandler,
} from 'nestjs-pg-workflows';
import type { QueryRunner } from 'typeorm';
import { Connection } from '../libs/workflow/src/store/connection';
import { attempts } from './support/attempts';
import { membersOf } from './support/fan';
import { captureLog } from './support/log';
import { workflowSuite, type TestApp } from './support/suite';

const ran: string[] = [];

@WorkflowJob({ maxAttempts: 3, backoff: 0 })
class Errand implements JobHandler<{ n: number }> {
  async perform({ n }: { n: number }, { workflowId, attempt }: JobContext) {
    ran.push(`${workflowId} member ${n} try ${attempt}`);
  }
}

/** Its steps are claimed and settled in every way there is. */
@Workflow()
class Everything extends WorkflowOf {
  @Step()
  async plain(ctx: Ctx<this>) {
    note(ctx);
  }

  @Step()
  async inPlace(ctx: Ctx<this>) {
    note(ctx);
  }

  @Step({ skipIf: () => false })
  async guarded(ctx: Ctx<this>) {
    note(ctx);
    if (ctx.attempt === 1) ctx.reattempt();
  }

  @Step({ transactional: true })
  async transactional(ctx: Ctx<this>) {
    await ctx.manager.query('insert into lost_writes values ($1)', [ctx.workflowId]);
    note(ctx);
  }

  @FanOut()
  async fan(ctx: Ctx<this>, batch: FanOutBatch) {
    note(ctx);
    for (let n = 0; n < 2; n += 1) batch.add(Errand, { n });
  }

  @Step()
  async last(ctx: Ctx<this>) {
    note(ctx);
  }
}

@Workflow()
class Watched extends WorkflowOf {
  @CancelIf()
  never() {
    return false;
  }

  @Step()
  async only(ctx: Ctx<this>) {
    note(ctx);
  }
}

function note({ workflowId, stepName, attempt }: { workflowId: string; stepName: string; attempt: number }) {
  ran.push(`${workflowId} ${stepName} ${attempt}`);
}

/** A connection that is cut after the server did what it was asked, and before the answer came. */
function loseAnswer(which: { readonly statement: string; readonly commit?: boolean; readonly step?: string }) {
  const state = { lost: 0 };
  const asked = new WeakSet<object>();
  const lose = (connection: { cut(): void }): never => {
    state.lost += 1;
    connection.cut();
    throw new Error('Connection terminated unexpectedly');
  };
  const originals = { run: real(Connection, 'run'), command: real(Connection, 'command') };
  jest.spyOn(Connection.prototype, 'run').mockImplementation(async function (this: Connection, statement, values) {
    const rows: any[] = await originals.run.call(this, statement, values);
    if (state.lost || statement.name !== `wf_${which.statement}`) return rows as never;
    if (statement.name === 'wf_claim' && !rows.some(({ claimed_id: id }) => id !== null)) return rows as never;
    if (which.commit) {
      asked.add(this.queryRunner);
      connections.set(this.queryRunner, this);
      return rows as never;
    }
    return lose(this);
  });
  jest.spyOn(Connection.prototype, 'command').mockImplementation(async function (this: Connection, text) {
    await originals.command.call(this, text);
    if (!state.lost && text === 'commit' && asked.has(this.queryRunner)) lose(this);
    if (text === 'rollback') asked.delete(this.queryRunner);
  });
  const connections = new Map<QueryRunner, Connection>();
  return {
    state,
    /** Transactions in which the application's code works are committed by TypeORM. */
    commitsOf: ({ dataSource }: TestApp) => {
      const make = dataSource.createQueryRunner.bind(dataSource);
      jest.spyOn(dataSource, 'createQueryRunner').mockImplementation((mode) => {
        const runner = make(mode);
        const commit = runner.commitTransaction.bind(runner);
        runner.commitTransaction = async () => {
          await commit();
          if (!state.lost && asked.has(runner)) lose(connections.get(runner)!);
        };
        return runner;
      });
    },
  };
}

function real<Key extends 'run' | 'command'>({ prototype }: typeof Connection, key: Key): Connection[Key] {
  return prototype[key];
}

describe('answers that are lost', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;

  beforeAll(() => sql('create table lost_writes (workflow_id uuid)'));
  beforeEach(() => ran.splice(0));
  afterEach(() => jest.restoreAllMocks());

  test.each([
    ['a claim in a set', { statement: 'claim' }],
    ['a settlement in a set, which went on in place', { statement: 'settle' }],
    ['the settlement of one run', { statement: 'change', commit: true }],
    ['a guarded claim', { statement: 'take', commit: true }],
    ['the commit of a transactional step', { statement: 'marked', commit: true }],
    ['the opening of a batch', { statement: 'park_batch', commit: true }],
    ['the settlement of members', { statement: 'settle_members' }],
    ['the question whether a batch is over', { statement: 'open_member' }],
    ['the join of a batch', { statement: 'count_members', commit: true }],
  ])('SWEEP-20 the answer to %s is lost: nothing is lost, doubled or left in progress', async (_, which) => {
    captureLog();
    const app = await suite.boot([Everything, Errand], { worker: { lease: '1s' } });
    const { state, commitsOf } = loseAnswer(which);
    commitsOf(app);
    const starter = await suite.boot([Everything], { worker: false });
    const run = await starter.workflows.start(Everything);
    await until(run, 'finished');
    expect(state.lost).toBe(1);
    expect(await attempts(run)).toEqual([
      'plain#1 completed',
      'inPlace#1 completed',
      'guarded#1 failed, reattempted',
      'guarded#2 completed',
      'transactional#1 completed',
      'fan#1 completed',
      'last#1 completed',
    ]);
    expect(await membersOf(sql, run)).toEqual(['fan 1 [0] completed', 'fan 1 [1] completed']);
    expect(ran.map((line) => line.slice(run.id.length + 1)).toSorted()).toEqual(
      [
        'plain 1',
        'inPlace 1',
        'guarded 1',
        'guarded 2',
        'transactional 1',
        'fan 1',
        'member 0 try 1',
        'member 1 try 1',
        'last 1',
      ].toSorted(),
    );
    expect(await sql('select from lost_writes where workflow_id = $1', [run.id])).toHaveLength(1);
    const events = await trail(run);
    expect(events.filter((name) => name === 'stall_detected' || name === 'late_completion_ignored')).toEqual([]);
    expect(events.filter((name) => name === 'fan_out_opened' || name === 'fan_out_finished')).toHaveLength(2);
    expect(app.reported).toEqual([]);
  });

  test('SWEEP-20 the answer to a start is lost: it resolves with the one run there is', async () => {
    const { workflows } = await suite.boot([Watched], { worker: false });
    const { state } = loseAnswer({ statement: 'start' });
    const run = await workflows.start(Watched);
    expect(state.lost).toBe(1);
    expect(run).toMatchObject({ status: 'ready', duplicateStart: false });
    expect(await sql(`select id from workflows where workflow_class = 'Watched'`)).toEqual([{ id: run.id }]);
    jest.restoreAllMocks();
    await suite.boot([Watched]);
    await until(run, 'finished');
    expect(ran).toEqual([`${run.id} only 1`]);
  });
});
