import {
  AlreadyRunningError,
  PayloadTooLargeError,
  PayloadValidationError,
  Step,
  UnserializableValueError,
  Workflow,
  WorkflowOf,
  type Ctx,
} from 'nestjs-pg-workflows';
import { SubjectLoader, WorkflowNotFoundError } from 'nestjs-pg-workflows';
import { workflowSuite } from './support/suite';

class Patron {
  constructor(readonly id: string) {}
}

@SubjectLoader(Patron)
class PatronLoader {
  load(id: string): Promise<Patron> {
    return Promise.resolve(new Patron(id));
  }
}

@Workflow({ subject: Patron, jobOptions: { queue: 'loans', priority: 3 } })
class Lending extends WorkflowOf<Patron, { book?: unknown }> {
  @Step({ wait: '1h' })
  async lend(ctx: Ctx<this>) {
    ctx.requireSubject();
  }
}

@Workflow({ subject: Patron })
class Returning extends WorkflowOf<Patron> {
  @Step()
  async take() {}
}

describe('idempotency keys and startMany', () => {
  const suite = workflowSuite();
  const boot = (maxPayloadSize = 131_072) =>
    suite.boot([Lending, Returning, PatronLoader], { worker: { queues: ['default'] }, maxPayloadSize });
  let patrons = 0;
  const patron = () => new Patron(`p-${(patrons += 1)}`);
  const rows = async () => {
    const [row] =
      await suite.sql(`select (select count(*) from workflows)::int as runs, (select count(*) from workflow_steps)::int as steps,
      (select count(*) from workflow_events)::int as events`);
    return row;
  };

  beforeEach(() => suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals'));

  test('STA-19 STA-20 a key used before returns its run, whatever its status, and writes nothing', async () => {
    const { workflows } = await boot();
    const subject = patron();
    const options = { subject, idempotencyKey: 'loan-1', args: { book: 'Emma' } };
    const first = await workflows.start(Lending, { ...options, actor: 'alice', reason: 'asked' });
    expect(first.duplicateStart).toBe(false);

    const again = async (status: string) => {
      const before = await rows();
      const second = await workflows.start(Lending, {
        ...options,
        actor: 'mallory',
        reason: 'again',
        args: { book: 'other' },
      });
      expect(second).toMatchObject({ id: first.id, duplicateStart: true, status, currentStep: 'lend' });
      expect(await rows()).toEqual(before);
      expect((await second.events())[0]).toMatchObject({ name: 'started', actor: 'alice', reason: 'asked' });
    };
    await again('ready'); // and no AlreadyRunningError, though the slot is held
    await first.pause();
    await again('paused');
    await first.cancel();
    await again('cancelled');

    const finished = await workflows.start(Returning, { idempotencyKey: 'back-1' });
    await suite.until(finished, 'finished');
    const before = await rows();
    expect(await workflows.start(Returning, { subject, idempotencyKey: 'back-1' })).toMatchObject({
      id: finished.id,
      status: 'finished',
      duplicateStart: true,
    });
    expect(await rows()).toEqual(before);
  });

  test('STA-20 another key for a subject with an ongoing run is AlreadyRunningError, as is no key', async () => {
    const { workflows } = await boot();
    const subject = patron();
    const run = await workflows.start(Lending, { subject, idempotencyKey: 'one' });
    for (const idempotencyKey of ['two', 'ONE', 'one ', undefined]) {
      const start = workflows.start(Lending, { subject, ...(idempotencyKey && { idempotencyKey }) });
      await expect(start).rejects.toThrow(AlreadyRunningError);
      await expect(start).rejects.toMatchObject({ run: { id: run.id, duplicateStart: false } });
    }
  });

  test("STA-19 a key is the class's own, and goes before the subject: the same key for another subject is its run", async () => {
    const { workflows } = await boot();
    const [one, other] = [patron(), patron()];
    const run = await workflows.start(Lending, { subject: one, idempotencyKey: 'shared' });
    expect(await workflows.start(Returning, { subject: one, idempotencyKey: 'shared' })).toMatchObject({
      duplicateStart: false,
    });
    expect(await workflows.start(Lending, { subject: other, idempotencyKey: 'shared' })).toMatchObject({
      id: run.id,
      duplicateStart: true,
      subject: { id: one.id },
    });
    expect(await workflows.start(Lending, { idempotencyKey: 'shared' })).toMatchObject({ id: run.id });
  });

  test('STA-22 a blank key is no key: each such start is a run, with a null key', async () => {
    const { workflows } = await boot();
    const runs = [];
    for (const idempotencyKey of ['', '   ', '\t\n', '']) runs.push(await workflows.start(Lending, { idempotencyKey }));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(4);
    expect(runs.every(({ duplicateStart }) => !duplicateStart)).toBe(true);
    expect(await suite.sql('select distinct idempotency_key as key from workflows')).toEqual([{ key: null }]);
  });

  test('STA-24 startMany writes runs, first rows and events in one statement per few hundred, handles in input order', async () => {
    const { workflows } = await boot();
    const inputs = Array.from({ length: 600 }, (_, index) => ({
      subject: new Patron(`many-${(index * 7919) % 600}`),
      args: { book: index },
      actor: `actor-${index}`,
      reason: `reason-${index}`,
      ...(index % 3 === 0 && { idempotencyKey: `many-${index}` }),
    }));
    const handles = await workflows.startMany(Lending, inputs);
    expect(handles.map(({ subject, status, duplicateStart }) => [subject!.id, status, duplicateStart])).toEqual(
      inputs.map(({ subject }) => [subject.id, 'ready', false]),
    );
    const written = await suite.sql(
      `select w.id, w.arguments->>'book' as book, w.idempotency_key as key, s.step_name, s.status, s.queue, s.priority, s.attempt,
              extract(epoch from s.available_at - w.created_at)::int as wait, w.created_at::text as statement,
              (select array_agg(e.name || ' ' || e.actor || ' ' || coalesce(e.reason, '-') order by e.id)
               from workflow_events e where e.workflow_id = w.id) as events
       from workflows w join workflow_steps s on s.workflow_id = w.id`,
    );
    const byId = new Map(written.map((row) => [row.id as string, row]));
    expect(byId.size).toBe(600);
    for (const [index, { id }] of handles.entries()) {
      expect(byId.get(id)).toMatchObject({
        book: String(index),
        key: index % 3 === 0 ? `many-${index}` : null,
        step_name: 'lend',
        status: 'scheduled',
        queue: 'loans',
        priority: 3,
        attempt: 1,
        wait: 3600,
        events: [`started actor-${index} reason-${index}`, `step_scheduled actor-${index} -`],
      });
    }
    expect(new Set(written.map(({ statement }) => statement as string)).size).toBeLessThanOrEqual(3);
    expect(await workflows.startMany(Lending, [])).toEqual([]);
  });

  test('STA-24 keys used before, and twice in one call, give their runs', async () => {
    const { workflows } = await boot();
    const old = await workflows.start(Lending, { idempotencyKey: 'old' });
    const handles = await workflows.startMany(Lending, [
      { idempotencyKey: 'new' },
      { idempotencyKey: 'old', subject: patron() },
      {},
      { idempotencyKey: 'new' },
      { idempotencyKey: ' ' },
    ]);
    const [first, second, third, fourth, fifth] = handles.map(({ id }) => id);
    expect([second, fourth]).toEqual([old.id, first]);
    expect(handles.map(({ duplicateStart }) => duplicateStart)).toEqual([false, true, false, true, false]);
    expect(new Set([first, second, third, fifth]).size).toBe(4);
    expect((await rows()).runs).toBe(4);
  });

  test.each([{ joined: false }, { joined: true }])(
    'STA-24 if one may not start none is written, and the error names its index (in a caller transaction: $joined)',
    async ({ joined }) => {
      const { workflows, dataSource } = await boot(1000);
      const busy = patron();
      const running = await workflows.start(Lending, { subject: busy });
      const before = await rows();
      const same = patron();
      const cases: [inputs: object[], type: new (...args: never[]) => Error, message: RegExp][] = [
        [[{ subject: patron() }, {}, { subject: busy }], AlreadyRunningError, /number 2/],
        [[{}, { args: { book: () => 1 } }], UnserializableValueError, /number 1.*arguments\.book/],
        [[{ args: { book: 'x'.repeat(1000) } }], PayloadTooLargeError, /number 0/],
        [[{}, {}, { actor: 'x'.repeat(256) }], PayloadValidationError, /number 2.*actor/],
        [[{ subject: same }, {}, { subject: same }], PayloadValidationError, /numbers? 0 and 2.*same subject/],
        [
          [
            { subject: same, idempotencyKey: 'a' },
            { subject: same, idempotencyKey: 'b' },
          ],
          PayloadValidationError,
          /0 and 1.*same subject/,
        ],
        [[{ subject: same }, { subject: same, idempotencyKey: 'b' }], PayloadValidationError, /0 and 1.*same subject/],
        [[{ subject: same, idempotencyKey: 'a' }, { subject: same }], PayloadValidationError, /0 and 1.*same subject/],
      ];
      const refuse = async (manager?: typeof dataSource.manager) => {
        for (const [inputs, type, message] of cases) {
          const start = workflows.startMany(Lending, inputs, manager ? { manager } : {});
          await expect(start).rejects.toThrow(type);
          await expect(start).rejects.toThrow(message);
        }
        await expect(
          workflows.startMany(Lending, [{}, { subject: busy }], manager ? { manager } : {}),
        ).rejects.toMatchObject({ run: { id: running.id } });
        return manager && workflows.startMany(Lending, [{}, {}], { manager });
      };
      if (joined) await dataSource.transaction(refuse);
      else await refuse();
      const after = joined ? { runs: 2, steps: 2, events: 4 } : { runs: 0, steps: 0, events: 0 };
      expect(await rows()).toEqual({
        runs: before.runs + after.runs,
        steps: before.steps + after.steps,
        events: before.events + after.events,
      });
    },
  );

  test('STA-24 a duplicate key frees its place: the same subject once more is another start', async () => {
    const { workflows } = await boot();
    const subject = patron();
    const old = await workflows.start(Lending, { subject, idempotencyKey: 'ended' });
    await old.cancel();
    const handles = await workflows.startMany(Lending, [{ subject, idempotencyKey: 'ended' }, { subject }]);
    expect(handles[0]).toMatchObject({ id: old.id, duplicateStart: true });
    expect(handles[1]).toMatchObject({ status: 'ready', duplicateStart: false });
    await expect(workflows.find('none')).rejects.toThrow(WorkflowNotFoundError);
  });
});
