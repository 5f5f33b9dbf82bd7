import { inspect } from 'node:util';
import {
  AlreadyRunningError,
  Step,
  Workflow,
  WorkflowDefinitionError,
  WorkflowNotFoundError,
  WorkflowOf,
  type Ctx,
} from 'nestjs-pg-workflows';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { makeWait } from './support/rows';
import { gate, workflowSuite, type TestApp } from './support/suite';

@Entity({ name: 'parcels', synchronize: false })
class Parcel {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'text' })
  label!: string;
}

let hold = gate();

@Workflow({ subject: Parcel })
class Shipping extends WorkflowOf<Parcel> {
  @Step()
  async pack() {
    await hold.opened;
  }

  @Step()
  async send(ctx: Ctx<this>) {
    if (ctx.attempt === 1) ctx.pause();
  }
}

@Workflow({ subject: Parcel })
class ExpressShipping extends Shipping {}

@Workflow({ subject: Parcel })
class Insurance extends WorkflowOf<Parcel> {
  @Step({ wait: '1h' })
  async insure() {}
}

@Workflow()
class Waits extends WorkflowOf<null, { actor?: string; reason?: string; idempotencyKey?: string }> {
  static readonly ran: string[] = [];

  @Step({ wait: 300 })
  async first(ctx: Ctx<this>) {
    Waits.ran.push(JSON.stringify(ctx.args));
  }

  @Step({ wait: 250 })
  async second() {}

  @Step()
  async third() {}
}

/** The same steps as `Insurance` has. */
@Workflow()
class OtherInsurance extends WorkflowOf {
  @Step()
  async insure() {}
}

@Workflow()
class NotLoaded extends WorkflowOf {
  @Step()
  async never() {}
}

describe('starting a run', () => {
  const suite = workflowSuite();
  const classes = [Shipping, ExpressShipping, Insurance, Waits, OtherInsurance];
  const boot = () => suite.boot(classes, { entities: [Parcel] });
  const parcel = ({ dataSource }: TestApp) => dataSource.getRepository(Parcel).save({ label: 'books' });

  beforeAll(() =>
    suite.sql('create table parcels (id int generated always as identity primary key, label text not null)'),
  );
  beforeEach(async () => {
    hold = gate();
    // What a test without a worker leaves ready would be taken by the next one's.
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('STA-01 start returns a ready handle, having written the run, its first attempt and two events in one transaction', async () => {
    const app = await suite.boot(classes, { entities: [Parcel], worker: false });
    const subject = await parcel(app);
    const run = await app.workflows.start(Shipping, { subject });

    expect(run.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(run).toMatchObject({
      status: 'ready',
      currentStep: 'pack',
      workflowName: 'Shipping',
      duplicateStart: false,
      subject: { type: 'Parcel', id: String(subject.id) },
    });
    const written = await suite.sql(
      `select w.status, w.current_step, w.workflow_class, w.subject_type, w.subject_id, w.arguments, w.idempotency_key,
              s.step_name, s.attempt, s.status as row_status, s.queue, s.priority, s.claim_no, s.handler,
              s.available_at = s.scheduled_at as claimable, s.scheduled_at = w.created_at as at_once,
              w.xmin::text = s.xmin::text and w.xmin::text = (select min(e.xmin::text) from workflow_events e where e.workflow_id = w.id)
                and w.xmin::text = (select max(e.xmin::text) from workflow_events e where e.workflow_id = w.id) as one_transaction
       from workflows w join workflow_steps s on s.workflow_id = w.id where w.id = $1`,
      [run.id],
    );
    expect(written).toEqual([
      {
        status: 'ready',
        current_step: 'pack',
        workflow_class: 'Shipping',
        subject_type: 'Parcel',
        subject_id: String(subject.id),
        arguments: {},
        idempotency_key: null,
        step_name: 'pack',
        attempt: 1,
        row_status: 'scheduled',
        queue: 'default',
        priority: 0,
        claim_no: 0,
        handler: 'Shipping',
        claimable: true,
        at_once: true,
        one_transaction: true,
      },
    ]);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled']);
    const [first] = await run.steps();
    expect(await run.events()).toMatchObject([
      { name: 'started', stepId: null, actor: 'app', reason: null },
      { name: 'step_scheduled', stepId: first.id, actor: 'app', reason: null },
    ]);
  });

  test('STA-01 a handle that is logged or sent as JSON shows nothing of the engine behind it', async () => {
    const { workflows } = await suite.boot(classes, { entities: [Parcel], worker: false });
    const run = await workflows.start(Shipping);
    for (const text of [inspect(run, { depth: 9, showHidden: true }), JSON.stringify(run)]) {
      expect(text).not.toMatch(/password|postgres:/i);
      expect(text.length).toBeLessThan(1000);
    }
  });

  test('STA-02 the first step is due its wait after the start, a later one its wait after the end of the one before', async () => {
    // The poll is of no help: what wakes the worker is that it knows when the next row is due.
    const { workflows } = await suite.boot(classes, { entities: [Parcel], worker: { pollInterval: '1h' } });
    const run = await workflows.start(Waits);
    await suite.until(run, 'finished');
    const rows = await suite.sql<Record<string, number | string>>(
      `select s.step_name,
              extract(epoch from s.available_at - coalesce(before.finished_at, w.created_at)) * 1000 as held_back,
              s.started_at >= s.available_at as in_time
       from workflow_steps s join workflows w on w.id = s.workflow_id
       left join lateral (select p.finished_at from workflow_steps p
         where p.workflow_id = s.workflow_id and p.id < s.id order by p.id desc limit 1) before on true
       where s.workflow_id = $1 order by s.id`,
      [run.id],
    );
    expect(rows.map((row) => ({ ...row, held_back: Number(row.held_back) }))).toEqual([
      { step_name: 'first', held_back: 300, in_time: true },
      { step_name: 'second', held_back: 250, in_time: true },
      { step_name: 'third', held_back: 0, in_time: true },
    ]);
  });

  test('STA-05 a run may have no subject, and any number of such runs of one class go on at once', async () => {
    const { workflows } = await boot();
    const runs = await Promise.all([1, 2, 3].map(() => workflows.start(Shipping)));
    await workflows.start(Shipping, { subject: null }).then((run) => runs.push(run));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(4);
    expect(runs.map(({ subject }) => subject)).toEqual([null, null, null, null]);
    for (const run of runs) await suite.until(run, 'performing');
    hold.open();
    for (const run of runs) await suite.until(run, 'paused');
  });

  test('STA-10 STA-11 the slot is held while the run is ready, performing and paused, and free once it has ended', async () => {
    const app = await boot();
    const subject = await parcel(app);
    const { workflows } = app;
    const refused = async () => {
      const error = await workflows.start(Shipping, { subject, args: {} }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(AlreadyRunningError);
      return (error as AlreadyRunningError).run;
    };
    const run = await workflows.start(Shipping, { subject });
    expect(await refused()).toMatchObject({ id: run.id, workflowName: 'Shipping', duplicateStart: false });

    await suite.until(run, 'performing');
    expect(await refused()).toMatchObject({ id: run.id, status: 'performing', currentStep: 'pack' });

    hold.open();
    await suite.until(run, 'paused');
    const inTheWay = await refused();
    expect(inTheWay).toMatchObject({ id: run.id, status: 'paused' });

    // It is a handle like any other.
    await inTheWay.cancel();
    const second = await workflows.start(Shipping, { subject });
    await suite.until(second, 'paused');
    await (await refused()).resume();
    await suite.until(second, 'finished');
    const third = await workflows.start(Shipping, { subject });
    expect(new Set([run.id, second.id, third.id]).size).toBe(3);
    expect(
      await suite.sql('select count(*)::int as runs from workflows where subject_id = $1', [String(subject.id)]),
    ).toEqual([{ runs: 3 }]);
    await suite.until(third, 'paused');
  });

  test('STA-10 a refused start writes nothing', async () => {
    const app = await suite.boot(classes, { entities: [Parcel], worker: false });
    const subject = await parcel(app);
    const count = () =>
      suite.sql(`select (select count(*) from workflows) as runs, (select count(*) from workflow_steps) as steps,
                        (select count(*) from workflow_events) as events`);
    await app.workflows.start(Shipping, { subject });
    const before = await count();
    await expect(app.workflows.start(Shipping, { subject, actor: 'eve', reason: 'again' })).rejects.toThrow(
      AlreadyRunningError,
    );
    expect(await count()).toEqual(before);
  });

  test('STA-11 the slot is held while the run is waiting', async () => {
    const app = await suite.boot(classes, { entities: [Parcel], worker: false });
    const subject = await parcel(app);
    const run = await app.workflows.start(Shipping, { subject });
    await makeWait(suite.sql, run);
    await expect(app.workflows.start(Shipping, { subject })).rejects.toMatchObject({
      run: { id: run.id, status: 'waiting' },
    });
  });

  test('STA-11 the slot is the class own: another class and a subclass may run for the same subject', async () => {
    const app = await suite.boot(classes, { entities: [Parcel], worker: false });
    const subject = await parcel(app);
    const runs = [
      await app.workflows.start(Shipping, { subject }),
      await app.workflows.start(ExpressShipping, { subject }),
      await app.workflows.start(Insurance, { subject }),
    ];
    expect(new Set(runs.map(({ id }) => id)).size).toBe(3);
    await expect(app.workflows.start(ExpressShipping, { subject })).rejects.toMatchObject({ run: { id: runs[1].id } });
    // And the subject's own: another parcel is free.
    await app.workflows.start(Shipping, { subject: await parcel(app) });
  });

  test('STA-13 actor stands on started and the first step_scheduled, reason on started, and neither in the arguments', async () => {
    const { workflows } = await boot();
    Waits.ran.length = 0;
    const args = { actor: 'an argument', reason: 'another', idempotencyKey: 'a third' };
    const run = await workflows.start(Waits, { args, actor: 'alice', reason: 'invited', idempotencyKey: 'k1' });
    const plain = await workflows.start(Waits, { actor: 'bob', reason: '' });
    await suite.until(run, 'finished');
    await suite.until(plain, 'finished');

    expect(Waits.ran.toSorted()).toEqual([JSON.stringify(args), '{}']);
    const events = await run.events();
    expect(events.slice(0, 2)).toMatchObject([
      { name: 'started', actor: 'alice', reason: 'invited' },
      { name: 'step_scheduled', actor: 'alice', reason: null },
    ]);
    expect(new Set(events.slice(2).map(({ actor }) => actor))).toEqual(new Set(['system']));
    expect((await plain.events())[0]).toMatchObject({ actor: 'bob', reason: null });
  });

  test('STA-23 the run stores the digest of the list of steps that it starts on', async () => {
    const { workflows } = await suite.boot(classes, { entities: [Parcel], worker: false });
    const digests: string[] = [];
    const runs = [
      await workflows.start(Insurance),
      await workflows.start(OtherInsurance),
      await workflows.start(Shipping),
    ];
    for (const run of runs) {
      const [row] = await suite.sql('select definition_digest from workflows where id = $1', [run.id]);
      expect(row.definition_digest).toMatch(/^[0-9a-f]{64}$/);
      digests.push(row.definition_digest);
      expect(run.definitionOutdated).toBe(false);
    }
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
  });

  test('STA-25 find gives the handle of an id, findOngoing the one of a subject or null', async () => {
    const app = await suite.boot(classes, { entities: [Parcel], worker: false });
    const { workflows } = app;
    const subject = await parcel(app);
    expect(await workflows.findOngoing(Shipping, subject)).toBeNull();
    const run = await workflows.start(Shipping, { subject });

    const found = await workflows.find(run.id);
    expect(found).toMatchObject({ id: run.id, status: 'ready', currentStep: 'pack', duplicateStart: false });
    expect(await workflows.find(run.id.toUpperCase())).toMatchObject({ id: run.id });
    expect(await workflows.findOngoing(Shipping, subject)).toMatchObject({ id: run.id, status: 'ready' });
    expect(await workflows.findOngoing(Insurance, subject)).toBeNull();

    await found.cancel();
    expect(await workflows.findOngoing(Shipping, subject)).toBeNull();
    expect(await workflows.find(run.id)).toMatchObject({ status: 'cancelled' });
  });

  test('STA-25 STA-28 an id that is unknown, or none at all, is a WorkflowNotFoundError', async () => {
    const { workflows } = await suite.boot(classes, { entities: [Parcel], worker: false });
    const ids = [
      '00000000-0000-7000-8000-000000000000',
      'abc',
      '',
      ' ',
      "'; drop table workflows",
      'a\0',
      7,
      null,
      undefined,
      {},
    ];
    for (const id of ids) {
      const error: unknown = await workflows.find(id as string).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(WorkflowNotFoundError);
      expect(error).toMatchObject({ code: 'WORKFLOW_NOT_FOUND' });
    }
  });

  test('STA-25 start and findOngoing of a class that is not loaded, or is none, say so', async () => {
    const { workflows } = await suite.boot(classes, { entities: [Parcel], worker: false });
    await expect(workflows.start(NotLoaded)).rejects.toThrow(/NotLoaded is not loaded in this process.*Shipping/);
    for (const wrong of [Parcel, null, 'Shippin', {}, undefined]) {
      await expect(workflows.start(wrong as never)).rejects.toThrow(WorkflowDefinitionError);
      await expect(workflows.findOngoing(wrong as never, {})).rejects.toThrow(WorkflowDefinitionError);
    }
  });
});
