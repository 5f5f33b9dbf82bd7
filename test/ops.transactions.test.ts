import {
  AlreadyRunningError,
  InvalidTransitionError,
  LockTimeoutError,
  Step,
  Workflow,
  WorkflowNotFoundError,
  WorkflowOf,
  type VerbOptions,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import type { Announcement, Wakeup } from '../libs/workflow/src/store/wakeup';
import { WAKEUP } from '../libs/workflow/src/workflow.runtime';
import { holdRuns } from './support/locks';
import { allRows, attemptsOf } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite, type TestApp } from './support/suite';
import { Ticket, TicketLoader } from './support/ticket';

@Workflow({ subject: Ticket })
class Booking extends WorkflowOf<Ticket> {
  @Step({ wait: '1 hour' })
  async only() {}
}

const TOMORROW = new Date(Date.now() + 86_400_000);

interface VerbCase {
  readonly verb: string;
  readonly prepare?: (run: WorkflowHandle) => Promise<unknown>;
  readonly call: (run: WorkflowHandle, options: VerbOptions) => Promise<unknown>;
  readonly event: string;
  /** Workers are told that its row is due. */
  readonly wakes: boolean;
}

const VERBS: VerbCase[] = [
  { verb: 'pause', call: (run, options) => run.pause(options), event: 'paused', wakes: false },
  {
    verb: 'resume',
    prepare: (run) => run.pause(),
    call: (run, options) => run.resume(options),
    event: 'resumed',
    wakes: true,
  },
  {
    verb: 'resumeAt',
    prepare: (run) => run.pause(),
    call: (run, options) => run.resumeAt('only', options),
    event: 'resumed',
    wakes: true,
  },
  { verb: 'cancel', call: (run, options) => run.cancel(options), event: 'cancelled', wakes: false },
  { verb: 'runNow', call: (run, options) => run.runNow(options), event: 'run_now', wakes: true },
  {
    verb: 'reschedule',
    call: (run, options) => run.reschedule(TOMORROW, options),
    event: 'rescheduled',
    wakes: true,
  },
  {
    verb: 'rerun',
    prepare: (run) => run.cancel(),
    call: (run, options) => run.rerun(options),
    event: 'rerun',
    wakes: true,
  },
];

describe("verbs in the caller's transaction", () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const boot = (options = {}) => suite.boot([Booking, TicketLoader, Scripted], options);
  const bootIdle = () => boot({ worker: false });
  /** Looks only when it is woken. */
  const bootSleeper = () => boot({ worker: { pollInterval: '10 minutes' } });
  let tickets = 0;
  const ticket = () => new Ticket(String((tickets += 1)));

  function announcementsOf({ app }: TestApp): Announcement[] {
    const heard: Announcement[] = [];
    app.get<Wakeup>(WAKEUP, { strict: false }).listen((announcement) => heard.push(announcement));
    return heard;
  }

  test.each(VERBS)('OPS-17 $verb takes effect, and wakes workers, when the transaction commits', async (one) => {
    const app = await bootIdle();
    const run = await app.workflows.start(Booking, { subject: ticket() });
    await one.prepare?.(run);
    const heard = announcementsOf(app);
    const before = await allRows(sql);
    await app.dataSource.transaction(async (manager) => {
      await one.call(run, { manager, actor: 'alice' });
      expect(await allRows(sql)).toEqual(before);
      const events = await run.events({ manager });
      expect(events.filter(({ actor, name }) => actor === 'alice' && name === one.event)).toHaveLength(1);
      expect(heard).toEqual([]);
    });
    expect(await trail(run)).toContain(one.event);
    expect(heard.map(({ kind }) => kind)).toEqual(one.wakes ? ['due'] : []);
  });

  test.each(VERBS)('OPS-17 after a rollback $verb has not happened, and nobody was woken', async (one) => {
    const app = await bootIdle();
    const run = await app.workflows.start(Booking, { subject: ticket() });
    await one.prepare?.(run);
    const heard = announcementsOf(app);
    const before = await allRows(sql);
    const failing = app.dataSource.transaction(async (manager) => {
      await one.call(run, { manager });
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await allRows(sql)).toEqual(before);
    expect(heard).toEqual([]);
  });

  test('OPS-17 what a rolled-back savepoint undoes wakes nobody, when the rest commits', async () => {
    const app = await bootIdle();
    const undone = await app.workflows.start(Booking, { subject: ticket() });
    const kept = await app.workflows.start(Booking, { subject: ticket() });
    const heard = announcementsOf(app);
    await app.dataSource.transaction(async (manager) => {
      const inner = manager.transaction(async (nested) => {
        await undone.runNow({ manager: nested });
        throw new Error('only this');
      });
      await expect(inner).rejects.toThrow('only this');
      await manager.transaction((nested) => kept.reschedule(TOMORROW, { manager: nested }));
      expect(heard).toEqual([]);
    });
    expect(await trail(undone)).not.toContain('run_now');
    expect(await trail(kept)).toContain('rescheduled');
    expect(heard).toEqual([expect.objectContaining({ kind: 'due' })]);
    expect((heard[0] as { dueIn: number }).dueIn).toBeGreaterThan(0);
  });

  test('OPS-17 the commit wakes a worker in this process and one in another', async () => {
    const idle = await bootIdle();
    const worker = await bootSleeper();
    for (const { workflows, dataSource } of [idle, worker]) {
      const run = await workflows.start(Booking, { subject: ticket() });
      await dataSource.transaction((manager) => run.runNow({ manager }));
      expect(await until(run, 'finished')).toBe('finished');
    }
  });

  test('OPS-17 a transaction that TypeORM did not begin wakes workers all the same', async () => {
    const idle = await bootIdle();
    await bootSleeper();
    const run = await idle.workflows.start(Booking, { subject: ticket() });
    const runner = idle.dataSource.createQueryRunner();
    try {
      await runner.query('begin');
      await run.runNow({ manager: runner.manager });
      expect(await trail(run)).not.toContain('run_now');
      await runner.query('commit');
    } finally {
      await runner.release();
    }
    expect(await until(run, 'finished')).toBe('finished');
  });

  test('OPS-17 a cancel that commits asks the body at work to stop, one that is rolled back does not', async () => {
    const app = await boot();
    const one = held();
    const run = await app.workflows.start(Scripted, script({ one: one.body }));
    const { abortSignal } = await one.reached;
    const heard = announcementsOf(app);
    const failing = app.dataSource.transaction(async (manager) => {
      await (await app.workflows.find(run.id)).cancel({ manager });
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect([heard, abortSignal.aborted]).toEqual([[], false]);
    await app.dataSource.transaction((manager) => run.cancel({ manager }));
    await suite.eventually(() => abortSignal.aborted, 'the body is asked to stop');
    one.release();
  });

  test('OPS-12 OPS-17 rerun in a transaction: the new run is there with its commit', async () => {
    const { workflows, dataSource } = await bootIdle();
    const old = await workflows.start(Booking, { subject: ticket() });
    await old.cancel();
    let again!: WorkflowHandle;
    await dataSource.transaction(async (manager) => {
      again = await old.rerun({ manager });
      expect(await again.steps()).toHaveLength(1);
      await expect(workflows.find(again.id)).rejects.toThrow(WorkflowNotFoundError);
    });
    expect(await workflows.find(again.id)).toMatchObject({ status: 'ready', rerunOf: old.id });
    expect((await trail(old)).at(-1)).toBe('rerun');
  });

  test('OPS-17 a verb that is refused leaves the transaction usable, and what it did before in place', async () => {
    const { workflows, dataSource } = await bootIdle();
    const subject = ticket();
    const old = await workflows.start(Booking, { subject });
    await old.cancel();
    const busy = await workflows.start(Booking, { subject });
    await dataSource.transaction(async (manager) => {
      await busy.pause({ manager });
      await expect(busy.pause({ manager })).rejects.toThrow(InvalidTransitionError);
      await expect(old.rerun({ manager })).rejects.toThrow(AlreadyRunningError);
      await busy.resume({ manager });
    });
    expect((await trail(busy)).slice(2)).toEqual(['paused', 'resumed']);
    expect((await trail(old)).at(-1)).toBe('cancelled');
  });

  describe('a handle made in a transaction', () => {
    test('OPS-19 reads and acts through it until it ends', async () => {
      const { workflows, dataSource } = await bootIdle();
      let run!: WorkflowHandle;
      await dataSource.transaction(async (manager) => {
        run = await workflows.start(Booking, { subject: ticket(), manager });
        await run.reload();
        expect(await run.steps()).toHaveLength(1);
        expect(await run.events()).toHaveLength(2);
        expect(await run.signals()).toEqual([]);
        await run.pause();
        expect(run.status).toBe('paused');
        expect((await workflows.find(run.id, { manager })).status).toBe('paused');
        await expect(workflows.find(run.id)).rejects.toThrow(WorkflowNotFoundError);
        expect(await sql('select from workflows where id = $1', [run.id])).toEqual([]);
      });
      expect((await run.reload()).status).toBe('paused');
      expect(await run.events()).toHaveLength(3);
      await run.resume();
      expect(await trail(run)).toEqual(['started', 'step_scheduled', 'paused', 'resumed']);
    });

    test('OPS-19 a handle found in a transaction sees what that has changed', async () => {
      const { workflows, dataSource } = await bootIdle();
      const { id } = await workflows.start(Booking, { subject: ticket() });
      await dataSource.transaction(async (manager) => {
        await (await workflows.find(id)).cancel({ manager });
        const inside = await workflows.find(id, { manager });
        expect(inside.status).toBe('cancelled');
        expect((await inside.reload()).availableActions).toEqual(['rerun']);
        expect((await inside.events()).at(-1)!.name).toBe('cancelled');
        expect((await workflows.find(id)).status).toBe('ready');
      });
    });

    test('OPS-19 after a rollback its run is not there', async () => {
      const { workflows, dataSource } = await bootIdle();
      let run!: WorkflowHandle;
      const failing = dataSource.transaction(async (manager) => {
        run = await workflows.start(Booking, { subject: ticket(), manager });
        throw new Error('rolled back');
      });
      await expect(failing).rejects.toThrow('rolled back');
      await expect(run.reload()).rejects.toThrow(WorkflowNotFoundError);
      await expect(run.pause()).rejects.toThrow(WorkflowNotFoundError);
    });
  });

  describe('lockTimeout', () => {
    const CALLS: [string, (run: WorkflowHandle, options: VerbOptions) => Promise<unknown>][] = [
      ['pause', (run, options) => run.pause(options)],
      ['cancel', (run, options) => run.cancel(options)],
      ['rerun', (run, options) => run.rerun(options)],
    ];

    test.each(CALLS)('OPS-18 %s with a lockTimeout gives up when somebody holds the run', async (_verb, call) => {
      const { workflows } = await bootIdle();
      const run = await workflows.start(Booking, { subject: ticket() });
      const lock = await holdRuns(suite, [run.id]);
      const before = await allRows(sql);
      const refused = await call(run, { lockTimeout: 20 }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockTimeoutError);
      expect(refused).toMatchObject({ code: 'LOCK_TIMEOUT', message: expect.stringContaining(run.id) });
      expect(await allRows(sql)).toEqual(before);
      expect(run.status).toBe('ready');
      await lock.release();
      await run.pause({ lockTimeout: 20 });
      expect(run.status).toBe('paused');
    });

    test.each(CALLS)(
      "OPS-17 after %s ran into its lockTimeout the caller's transaction is usable, and its own lock_timeout unchanged",
      async (_verb, call) => {
        const { workflows, dataSource } = await bootIdle();
        const taken = await workflows.start(Booking, { subject: ticket() });
        const free = await workflows.start(Booking, { subject: ticket() });
        const lock = await holdRuns(suite, [taken.id]);
        await dataSource.transaction(async (manager) => {
          const setting = () => manager.query<{ lock_timeout: string }[]>('show lock_timeout');
          await manager.query(`set local lock_timeout = '7s'`);
          await free.pause({ manager });
          await expect(call(taken, { manager, lockTimeout: 20 })).rejects.toThrow(LockTimeoutError);
          expect(await setting()).toEqual([{ lock_timeout: '7s' }]);
          await free.resume({ manager, lockTimeout: 1000 });
          expect(await setting()).toEqual([{ lock_timeout: '7s' }]);
        });
        await lock.release();
        expect((await trail(free)).slice(2)).toEqual(['paused', 'resumed']);
        expect(await trail(taken)).toEqual(['started', 'step_scheduled']);
        expect(await attemptsOf(sql, taken)).toEqual(['only 1 scheduled']);
      },
    );

    test('OPS-17 a lockTimeout does not stay on the connection', async () => {
      const app = await suite.boot([Booking, TicketLoader], { worker: false, poolSize: 1 });
      const run = await app.workflows.start(Booking, { subject: ticket() });
      await run.pause({ lockTimeout: 5000 });
      expect(await app.dataSource.query('show lock_timeout')).toEqual([{ lock_timeout: '0' }]);
    });
  });
});
