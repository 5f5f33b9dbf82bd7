import {
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  fanOut,
  type Ctx,
  type FanOutBatch,
  type JobHandler,
  type StepContext,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { addTasks, fanning, fanScript, fanTrail, membersOf, Task } from './support/fan';
import { attemptsOf } from './support/rows';
import { gate, workflowSuite } from './support/suite';

const Fans = fanning('Fans');
const FansAtOnce = fanning('FansAtOnce', { transactional: true });

const KINDS = [
  ['a fan-out', Fans],
  ['a transactional fan-out', FansAtOnce],
] as const;

@WorkflowJob({ name: 'send_mail', queue: 'mail', priority: 4 })
class SendMail implements JobHandler<{ to: string }> {
  async perform() {}
}

@Workflow()
class Side extends WorkflowOf {
  @Step()
  async only() {}
}

@Workflow({
  steps: [
    fanOut('listed', (_ctx: StepContext, batch: FanOutBatch) => {
      batch.add(SendMail, { to: 'a' });
    }),
  ],
})
class Listed extends WorkflowOf {
  @FanOut()
  async declared(_ctx: Ctx<this>, batch: FanOutBatch) {
    await this.helper(batch);
    batch.add(SendMail, { to: 'b' });
  }

  private async helper(batch: FanOutBatch) {
    await Promise.resolve();
    batch.add(SendMail, { to: 'a' });
  }
}

describe('opening a batch', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const providers = [Fans, FansAtOnce, Listed, Side, SendMail, Task];
  /** Serves the steps and leaves the members of queue `mail` alone. */
  const boot = () => suite.boot(providers, { worker: { queues: ['default'] } });

  /** Adds members whose rows nobody touches. */
  const unserved = (size: number) => (_ctx: StepContext, batch: FanOutBatch) => {
    for (let n = 0; n < size; n += 1) batch.add(SendMail, { to: `${n}` });
  };

  test('FAN-01 each member keeps its own queue, wait and priority; what it does not say is its handler’s, then the setting’s', async () => {
    const { workflows } = await boot();
    const adds = (ctx: StepContext, batch: FanOutBatch) => {
      const helper = (to: string) => batch.add(SendMail, { to });
      helper('plain');
      batch.add(SendMail, { to: 'elsewhere' }, { queue: 'slow', priority: -2, wait: '2h' });
      batch.add(SendMail, { to: 'in part' }, { wait: 1_000 });
      batch.add(Task, { script: ctx.args.script, n: 0 }, { wait: '1h' });
      batch.add(SendMail, { to: 'plain' }, { queue: undefined });
    };
    const run = await workflows.start(Fans, fanScript({ fan: adds }));
    await until(run, 'waiting');
    const rows = await sql(
      `select m.handler, m.job_name, m.queue, m.priority, m.member_index, m.job_args,
              round(extract(epoch from m.available_at - e.created_at) * 1000)::int as wait
       from workflow_steps m join workflow_events e on e.step_id = m.parent_step_id and e.name = 'fan_out_opened'
       where m.workflow_id = $1 and m.parent_step_id is not null order by m.member_index`,
      [run.id],
    );
    expect(rows.map(({ handler, queue, priority, member_index }) => [member_index, handler, queue, priority])).toEqual([
      [0, 'send_mail', 'mail', 4],
      [1, 'send_mail', 'slow', -2],
      [2, 'send_mail', 'mail', 4],
      [3, 'Task', 'default', 0],
      [4, 'send_mail', 'mail', 4],
    ]);
    // Opened in one transaction, in statements a moment apart.
    for (const [index, wait] of [0, 7_200_000, 1_000, 3_600_000, 0].entries()) {
      expect(Math.abs(rows[index].wait - wait)).toBeLessThan(900);
    }
    expect(rows.map(({ job_name }) => job_name)).toEqual(rows.map(({ handler }) => handler));
    expect(rows[1].job_args).toEqual({ to: 'elsewhere' });
  });

  test('FAN-01 members are added from helpers and in every form of step, any number of times', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Listed);
    await until(run, 'waiting');
    expect(await membersOf(sql, run)).toEqual(['declared 1 [0] scheduled', 'declared 1 [1] scheduled']);
    await run.skip();
    await suite.eventually(async () => (await membersOf(sql, run)).length === 3, 'the listed fan-out has opened');
    expect((await membersOf(sql, run))[2]).toBe('listed 1 [0] scheduled');
    await run.cancel();
  });

  test('FAN-02 nothing is stored while the body runs; the batch opens with exactly its members in the transaction that parks', async () => {
    const { workflows } = await boot();
    const added = gate();
    const go = gate();
    const run = await workflows.start(
      Fans,
      fanScript({
        fan: async (ctx, batch) => {
          unserved(3)(ctx, batch);
          added.open();
          await go.opened;
          batch.add(SendMail, { to: 'last' });
        },
      }),
    );
    await added.opened;
    expect(await membersOf(sql, run)).toEqual([]);
    expect(await attemptsOf(sql, run)).toEqual(['fan 1 in_progress']);
    go.open();
    await until(run, 'waiting');
    expect(await membersOf(sql, run)).toEqual([0, 1, 2, 3].map((n) => `fan 1 [${n}] scheduled`));
    const written = await sql(
      `select xmin::text from workflow_steps where workflow_id = $1
       union select xmin::text from workflows where id = $1
       union select xmin::text from workflow_events where workflow_id = $1 and name in ('fan_out_opened', 'step_waiting')`,
      [run.id],
    );
    expect(written).toHaveLength(1);
  });

  test('FAN-02 FAN-04 a batch that cannot be parked leaves no member behind', async () => {
    const { workflows } = await boot();
    await sql(`create function refuse_opening() returns trigger language plpgsql as $$
               begin raise exception 'not today' using errcode = '23514'; end $$`);
    await sql(`create trigger refuse before insert on workflow_events for each row
               when (new.name = 'fan_out_opened') execute function refuse_opening()`);
    try {
      const run = await workflows.start(Fans, fanScript({ fan: unserved(3) }));
      await until(run, 'paused');
      expect(await membersOf(sql, run)).toEqual([]);
      const [row] = await run.steps();
      expect(row).toMatchObject({ status: 'failed', outcome: 'paused', error: { message: 'not today' } });
    } finally {
      await sql('drop trigger refuse on workflow_events');
    }
  });

  test('FAN-03 the batch is the row of its step: class, step, run and counts stand beside its members', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Fans, fanScript({ fan: unserved(2) }));
    await until(run, 'waiting');
    const batches = await sql(
      `select b.id, format('%s#%s %s', w.workflow_class, b.step_name, b.workflow_id) as description, b.batch_size,
              count(*)::int as members, count(*) filter (where m.workflow_id = b.workflow_id and m.step_name = b.step_name)::int as its
       from workflow_steps b join workflows w on w.id = b.workflow_id join workflow_steps m on m.parent_step_id = b.id
       where b.workflow_id = $1 group by b.id, w.workflow_class`,
      [run.id],
    );
    const [row] = await run.steps();
    expect(batches).toEqual([{ id: row.id, description: `Fans#fan ${run.id}`, batch_size: 2, members: 2, its: 2 }]);
  });

  test('FAN-04 row and run wait, two events name the batch and its size, and no row of the run is claimable', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(
      Fans,
      fanScript({
        fan: (ctx, batch) => {
          ctx.output({ told: 2 });
          unserved(2)(ctx, batch);
        },
      }),
    );
    await until(run, 'waiting');
    const [row] = await run.steps();
    expect(row).toMatchObject({
      status: 'waiting',
      outcome: null,
      availableAt: null,
      finishedAt: null,
      output: { told: 2 },
    });
    expect((await run.reload()).availableActions).toEqual(['pause', 'cancel', 'skip', 'signal']);
    const events = (await run.events()).slice(3);
    expect(events.map(({ name, stepId, actor, details }) => [name, stepId, actor, details])).toEqual([
      ['fan_out_opened', row.id, 'system', { batch_id: row.id, size: 2 }],
      ['step_waiting', row.id, 'system', { batch_id: row.id }],
    ]);
    // A batch's wait has no deadline, and no signal wakes it.
    const [wait] = await sql(
      `select wait_for, timeout_at, waiting_since, lease_expires_at from workflow_steps where id = $1`,
      [row.id],
    );
    expect(wait).toEqual({ wait_for: null, timeout_at: null, waiting_since: expect.any(Date), lease_expires_at: null });
    expect(await run.signal('fan', {})).toMatchObject({ status: 'pending' });
    expect(await until(run, 'waiting')).toBe('waiting');
  });

  describe('a body that does not return', () => {
    const ENDINGS: [string, (ctx: StepContext) => unknown, string, string[]][] = [
      ['pauses', (ctx) => ctx.pause(), 'paused', ['fan#1 completed, paused']],
      ['cancels', (ctx) => ctx.cancel(), 'cancelled', ['fan#1 cancelled']],
      ['skips', (ctx) => ctx.skip(), 'finished', ['fan#1 skipped', 'after#1 completed']],
      ['finishes', (ctx) => ctx.finish(), 'finished', ['fan#1 completed, finished']],
      [
        'throws',
        () => {
          throw new RangeError('boom');
        },
        'paused',
        ['fan#1 failed, paused: RangeError'],
      ],
      [
        'swallows its verb',
        (ctx) => {
          try {
            ctx.skip();
          } catch {
            // As an application's catch-all does.
          }
        },
        'finished',
        ['fan#1 skipped', 'after#1 completed'],
      ],
    ];

    test.each(KINDS.flatMap(([kind, workflow]) => ENDINGS.map((ending) => [kind, workflow, ...ending] as const)))(
      'FAN-12 %s: one that %s ends the step so; no batch is stored, and what was added before never runs',
      async (_kind, workflow, _how, ending, status, rows) => {
        const { workflows } = await suite.boot(providers);
        const performed: number[] = [];
        const run = await workflows.start(
          workflow,
          fanScript({
            task: (n) => performed.push(n),
            fan: async (ctx, batch) => {
              addTasks(ctx, batch, 3);
              await ending(ctx);
            },
          }),
        );
        await until(run, status as 'paused');
        expect(await attempts(run)).toEqual(rows);
        expect(await membersOf(sql, run)).toEqual([]);
        expect((await trail(run)).filter((name) => name.startsWith('fan_out'))).toEqual([]);
        expect(performed).toEqual([]);
      },
    );

    test('FAN-12 FAN-16 reattempt: only the members of the attempt that returned exist', async () => {
      const { workflows } = await suite.boot(providers);
      const performed: number[] = [];
      const run = await workflows.start(
        Fans,
        fanScript({
          task: (n) => performed.push(n),
          fan: (ctx, batch) => {
            addTasks(ctx, batch, ctx.attempt === 1 ? 5 : 2);
            if (ctx.attempt === 1) ctx.reattempt();
          },
        }),
      );
      await until(run, 'finished');
      expect(performed.toSorted((a, b) => a - b)).toEqual([0, 1]);
      expect(await membersOf(sql, run)).toEqual(['fan 2 [0] completed', 'fan 2 [1] completed']);
    });
  });

  test('FAN-13 a run that the body starts is no member: it is neither waited for nor counted', async () => {
    const { workflows } = await boot();
    const others: string[] = [];
    const run = await workflows.start(
      Fans,
      fanScript({
        fan: async (ctx, batch) => {
          const other = await workflows.start(Fans, fanScript({ fan: unserved(1) }));
          others.push(other.id, (await workflows.start(Side)).id);
          addTasks(ctx, batch, 1);
        },
      }),
    );
    await until(run, 'finished');
    expect(await until(others[0], 'waiting')).toBe('waiting');
    await until(others[1], 'finished');
    expect((await fanTrail(run)).filter((event) => event.startsWith('fan_out'))).toEqual([
      'fan_out_opened {"size":1}',
      'fan_out_finished {"failed_jobs":0,"total_jobs":1}',
    ]);
  });

  test.each(KINDS)('FAN-15 %s: an empty batch completes the step at once, without a wait', async (_kind, workflow) => {
    const { workflows } = await boot();
    const run = await workflows.start(workflow, fanScript({ fan: (ctx) => ctx.output({ none: true }), size: 0 }));
    await until(run, 'finished');
    expect((await fanTrail(run)).slice(2)).toEqual([
      'step_started',
      'fan_out_opened {"size":0}',
      'fan_out_finished {"failed_jobs":0,"total_jobs":0}',
      'step_completed',
      'step_scheduled',
      'step_started',
      'step_completed',
      'finished',
    ]);
    const [row] = await run.steps();
    expect(row).toMatchObject({ status: 'completed', outcome: 'completed', output: { none: true } });
    const opened = (await run.events()).find(({ name }) => name === 'fan_out_opened')!;
    expect(opened.details).toEqual({ batch_id: row.id, size: 0 });
  });

  test('FAN-02 FLOW-17 transactional: the body’s writes, the batch and the park commit together', async () => {
    await sql('create table if not exists notes (workflow_id uuid, note text)');
    const { workflows } = await boot();
    const fan = async (ctx: StepContext, batch: FanOutBatch) => {
      await ctx.manager.query('insert into notes values ($1, $2)', [ctx.workflowId, `attempt ${ctx.attempt}`]);
      unserved(2)(ctx, batch);
      if (ctx.attempt === 1) throw new Error('rolled back');
    };
    const run = await workflows.start(FansAtOnce, fanScript({ fan }));
    await until(run, 'paused');
    expect(await sql('select note from notes where workflow_id = $1', [run.id])).toEqual([]);
    expect(await membersOf(sql, run)).toEqual([]);
    await run.resume();
    await until(run, 'waiting');
    expect(await sql('select note from notes where workflow_id = $1', [run.id])).toEqual([{ note: 'attempt 2' }]);
    const written = await sql(
      `select xmin::text from notes where workflow_id = $1
       union select xmin::text from workflow_steps where workflow_id = $1 and attempt = 2
       union select xmin::text from workflow_events where workflow_id = $1 and name in ('fan_out_opened', 'step_waiting')`,
      [run.id],
    );
    expect(written).toHaveLength(1);
  });

  test('FAN-02 transactional: a body that runs again after a deadlock adds its members once', async () => {
    const { workflows } = await boot();
    let tries = 0;
    const fan = async (ctx: StepContext, batch: FanOutBatch) => {
      unserved(2)(ctx, batch);
      tries += 1;
      if (tries === 1) await ctx.manager.query(`do $$ begin raise exception 'dead' using errcode = '40P01'; end $$`);
    };
    const run = await workflows.start(FansAtOnce, fanScript({ fan }));
    await until(run, 'waiting');
    expect(tries).toBe(2);
    expect(await membersOf(sql, run)).toEqual(['fan 1 [0] scheduled', 'fan 1 [1] scheduled']);
  });

  test('FAN-02 members become claimable with the commit: another process is told of each lane, without a poll', async () => {
    const hour = { pollInterval: '1h' } as const;
    const { workflows } = await suite.boot(providers, { worker: { queues: ['default'], ...hour } });
    await suite.boot([Fans, Task], { worker: { queues: ['told', 'slow'], ...hour } });
    const fan = (ctx: StepContext, batch: FanOutBatch) => {
      const args = { script: ctx.args.script, n: 0 };
      batch.add(Task, args, { queue: 'told' });
      batch.add(Task, args, { queue: 'slow', priority: 9 });
      batch.add(Task, args, { queue: 'slow', wait: 60 });
    };
    const run = await workflows.start(Fans, fanScript({ fan }));
    await until(run, 'finished');
    expect(await membersOf(sql, run)).toEqual([0, 1, 2].map((n) => `fan 1 [${n}] completed`));
  });
});
