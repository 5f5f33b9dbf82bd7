import { IsInt, IsString, ValidateNested } from 'class-validator';
import { Type } from 'class-transformer';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import {
  LockTimeoutError,
  NotOngoingError,
  PayloadTooLargeError,
  PayloadValidationError,
  Step,
  SubjectLoader,
  UnserializableValueError,
  Workflow,
  WorkflowDefinitionError,
  WorkflowNotFoundError,
  WorkflowOf,
  defineSignal,
  type Ctx,
  type SignalDefinition,
  type SignalOptions,
} from 'nestjs-pg-workflows';
import { holdRuns } from './support/locks';
import { allRows, newestRow } from './support/rows';
import { held } from './support/scripted';
import { Paid, Signalled, signalScript, signalsOf } from './support/signalled';
import { workflowSuite, type BootOptions } from './support/suite';

@Entity('customers')
class Customer {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'text' })
  name!: string;
}

class Money {
  @IsInt()
  cents!: number;
}

class PaidDto {
  @IsString()
  reference!: string;

  @ValidateNested()
  @Type(() => Money)
  amount!: Money;
}

const PaidInFull = defineSignal('paid', PaidDto);
const Anything = defineSignal('anything');

class Order {
  constructor(readonly id: string) {}
}

@SubjectLoader(Order)
class OrderLoader {
  load(id: string): Promise<Order> {
    return Promise.resolve(new Order(id));
  }
}

const received: unknown[] = [];

@Workflow({ subject: Order })
class Ordered extends WorkflowOf<Order> {
  @Step({ waitFor: Anything })
  async wait(ctx: Ctx<this, typeof Anything>) {
    received.push(ctx.receivedSignal.payload);
  }
}

@Workflow({ subject: Order })
class OtherOrdered extends WorkflowOf<Order> {
  @Step({ waitFor: 'anything' })
  async wait() {}
}

describe('delivering a signal', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const PROVIDERS = [Signalled, Ordered, OtherOrdered, OrderLoader];
  const boot = (options: BootOptions = {}) => suite.boot(PROVIDERS, { entities: [Customer], ...options });
  const idle = (options: BootOptions = {}) => boot({ worker: false, ...options });
  let orders = 0;
  const order = () => new Order(`order-${(orders += 1)}`);

  beforeAll(() => sql('create table customers (id serial primary key, name text not null)'));
  beforeEach(() => {
    received.length = 0;
  });

  const startWaiting = async (options: BootOptions = {}) => {
    const app = await boot(options);
    const run = await app.workflows.start(Ordered, { subject: order() });
    await until(run, 'waiting');
    return { ...app, run, subject: new Order(run.subject!.id) };
  };

  describe('waking', () => {
    test('SIG-04 a process without a worker signals: the step starts by notification, the poll is an hour off', async () => {
      await boot({ worker: { pollInterval: '1h' } });
      const { workflows } = await idle();
      const run = await workflows.start(Ordered, { subject: order() });
      await until(run, 'waiting');
      await run.signal(Anything, { by: 'handle' });
      await until(run, 'finished');
      const second = await workflows.start(Ordered, { subject: order() });
      await until(second, 'waiting');
      await workflows.signal(Ordered, new Order(second.subject!.id), Anything, { by: 'subject' });
      await until(second, 'finished');
      expect(received).toEqual([{ by: 'handle' }, { by: 'subject' }]);
    });

    test('SIG-04 in the process that signals it starts without a listener', async () => {
      const { run } = await startWaiting({ worker: { pollInterval: '1h', listen: false } });
      await run.signal(Anything, { here: true });
      expect(await until(run, 'finished')).toBe('finished');
    });
  });

  describe('idempotency keys', () => {
    test('SIG-11 DATA-09 a key seen before: no second row, no wake, the stored signal and an event that says so', async () => {
      const { run, workflows } = await startWaiting();
      const first = await run.signal(Anything, { n: 1 }, { idempotencyKey: 'evt', actor: 'webhook' });
      expect(first).toMatchObject({ duplicateDelivery: false, idempotencyKey: 'evt', status: 'claimed' });
      await until(run, 'finished');
      const other = await workflows.start(Ordered, { subject: order() });
      await until(other, 'waiting');
      expect(await other.signal(Anything, { n: 2 }, { idempotencyKey: 'evt' })).toMatchObject({
        duplicateDelivery: false,
      });
      await until(other, 'finished');
      expect(received).toEqual([{ n: 1 }, { n: 2 }]);
    });

    test('SIG-11 SIG-14 before its step, while it waits for another, and claimed: always the stored one', async () => {
      const first = held();
      const pay = held();
      const { workflows } = await boot();
      const run = await workflows.start(Signalled, signalScript({ first: first.body, pay: pay.body }));
      await first.reached;
      const options = { idempotencyKey: ' k ', actor: 'alice', reason: 'once' };
      const stored = await run.signal('other', { n: 1 }, options);
      // Another name and another payload change nothing: the key says it is the same.
      const again = await run.signal(Paid, { amount: 2 }, { idempotencyKey: ' k ', actor: 'bob', reason: 'twice' });
      expect(again).toEqual({ ...stored, duplicateDelivery: true });
      first.release();
      await until(run, 'waiting');
      const before = await newestRow(sql, run);
      expect(await run.signal(Paid, {}, { idempotencyKey: ' k ' })).toEqual({ ...stored, duplicateDelivery: true });
      expect(await newestRow(sql, run)).toEqual(before);
      // Spaces around a key are a part of it.
      const fresh = await run.signal(Paid, { amount: 3 }, { idempotencyKey: 'k' });
      expect(fresh).toMatchObject({ duplicateDelivery: false, status: 'claimed' });
      await pay.reached;
      const claimed = await run.signal(Paid, {}, { idempotencyKey: 'k' });
      expect(claimed).toMatchObject({
        id: fresh.id,
        status: 'claimed',
        payload: { amount: 3 },
        duplicateDelivery: true,
      });
      expect(await signalsOf(sql, run)).toEqual(['other pending', 'paid claimed by pay#1']);
      const told = (await run.events()).filter(({ name }) => name === 'signal_received');
      const details = (name: string, idempotency_key: string, duplicate: boolean) => ({
        name,
        idempotency_key,
        duplicate,
      });
      expect(told.map((event) => [event.actor, event.reason, event.details])).toEqual([
        ['alice', 'once', details('other', ' k ', false)],
        ['bob', 'twice', details('other', ' k ', true)],
        ['app', null, details('other', ' k ', true)],
        ['app', null, details('paid', 'k', false)],
        ['app', null, details('paid', 'k', true)],
      ]);
      expect(told.map(({ stepId }) => stepId)).toEqual(told.map(() => null));
      pay.release();
      await until(run, 'finished');
    });

    test.each(['', ' ', '\t\n'])(
      'SIG-13 a blank key (%j) is none: each delivery is a signal of its own',
      async (key) => {
        const { workflows } = await idle();
        const run = await workflows.start(Ordered, { subject: order() });
        for (const amount of [1, 2]) {
          expect(await run.signal(Anything, { amount }, { idempotencyKey: key })).toMatchObject({
            duplicateDelivery: false,
            idempotencyKey: null,
          });
        }
        const rows = await sql('select idempotency_key from workflow_signals where workflow_id = $1', [run.id]);
        expect(rows).toEqual([{ idempotency_key: null }, { idempotency_key: null }]);
        expect((await run.events()).at(-1)!.details).toEqual({
          name: 'anything',
          idempotency_key: null,
          duplicate: false,
        });
        await run.cancel();
      },
    );
  });

  test('SIG-14 who sent it, and why, by handle and by subject', async () => {
    const { run, workflows, subject } = await startWaiting();
    await run.pause();
    await run.signal('a', {}, { actor: 'alice', reason: 'a call' });
    await workflows.signal(Ordered, subject, 'b', {}, { actor: 'bob', reason: ' ' });
    await workflows.signal(Ordered, subject, 'c');
    const told = (await run.events()).filter(({ name }) => name === 'signal_received');
    expect(told.map(({ actor, reason, details }) => [details!.name, actor, reason])).toEqual([
      ['a', 'alice', 'a call'],
      ['b', 'bob', null],
      ['c', 'app', null],
    ]);
    await run.cancel();
  });

  describe('payloads', () => {
    test('SIG-17 round-trip like args: dates, entities, an empty object when there is none', async () => {
      const { run, dataSource, workflows } = await startWaiting();
      const customer = await dataSource.manager.save(Object.assign(new Customer(), { name: 'Ada' }));
      const payload = {
        at: new Date(1),
        tags: new Set(['a']),
        big: 2n ** 70n,
        customer,
        nested: { list: [customer] },
        $superjson: 1,
      };
      const signal = await run.signal(Anything, payload);
      expect(signal.payload).toEqual(payload);
      expect((signal.payload as typeof payload).customer).toBeInstanceOf(Customer);
      await until(run, 'finished');
      expect(received).toEqual([payload]);
      expect((received[0] as typeof payload).customer).toBeInstanceOf(Customer);
      const [stored] = await sql('select payload::text from workflow_signals where workflow_id = $1', [run.id]);
      expect(stored.payload).not.toContain('Ada');
      // AMB-06: one that is gone reads as null.
      await sql('delete from customers');
      expect((await run.signals())[0].payload).toEqual({ ...payload, customer: null, nested: { list: [null] } });

      for (const none of [undefined, null]) {
        const empty = await workflows.start(Ordered, { subject: order() });
        await until(empty, 'waiting');
        expect((await empty.signal(Anything, none)).payload).toEqual({});
        await until(empty, 'finished');
      }
      expect(received.slice(1)).toEqual([{}, {}]);
    });

    test("SIG-17 SIG-05 an entity saved in the caller's transaction comes back from the delivery in it", async () => {
      const { workflows, dataSource } = await idle({ poolSize: 1 });
      const run = await workflows.start(Ordered, { subject: order() });
      await dataSource.transaction(async (manager) => {
        const customer = await manager.save(Object.assign(new Customer(), { name: 'Grace' }));
        const signal = await run.signal(Anything, { customer }, { manager });
        expect(signal.payload).toEqual({ customer });
        const same = await workflows.signal(Ordered, new Order(run.subject!.id), Anything, { customer }, { manager });
        expect(same!.payload).toEqual({ customer });
      });
      await run.cancel();
    });

    test('SIG-17 the DTO of defineSignal: one that fits is stored as it was given, an instance of it too', async () => {
      const { workflows } = await idle();
      const run = await workflows.start(Ordered, { subject: order() });
      const given = { reference: 'r', amount: { cents: 5 } };
      expect((await run.signal(PaidInFull, given)).payload).toEqual(given);
      const instance = Object.assign(new PaidDto(), given);
      expect((await run.signal(PaidInFull, instance)).payload).toEqual(given);
      // By its bare name nothing is known of a DTO.
      expect((await run.signal('paid', { reference: 5 })).payload).toEqual({ reference: 5 });
      await run.cancel();
    });

    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const REFUSED: [string, unknown, unknown, new (...args: never[]) => Error, string][] = [
      [
        'one that fails the DTO',
        PaidInFull,
        { reference: 5, amount: { cents: 'x' } },
        PayloadValidationError,
        'reference must be a string; amount.cents must be',
      ],
      [
        'none at all for a DTO',
        PaidInFull,
        undefined,
        PayloadValidationError,
        'The payload of signal "paid" did not pass PaidDto',
      ],
      ['one too large', Anything, { text: 'x'.repeat(200_000) }, PayloadTooLargeError, 'anything'],
      ['a function inside', Anything, { f: () => {} }, UnserializableValueError, '.f is a function'],
      ['a cycle', Anything, cyclic, UnserializableValueError, '.self'],
      ['an unsaved entity', Anything, { c: new Customer() }, UnserializableValueError, 'unsaved Customer'],
      ['an instance of a class', Anything, new Order('1'), UnserializableValueError, 'an instance of Order'],
      [
        'an entity',
        Anything,
        Object.assign(new Customer(), { id: 1 }),
        UnserializableValueError,
        'an instance of Customer',
      ],
      ['a function', Anything, () => {}, UnserializableValueError, 'a function'],
      ['a promise', Anything, Promise.resolve({}), UnserializableValueError, 'Promise'],
      ['a Map', Anything, new Map(), UnserializableValueError, 'Map'],
      ['a Date', Anything, new Date(), UnserializableValueError, 'Date'],
      ['an array', Anything, [], PayloadValidationError, 'an array'],
      ['a text', Anything, 'paid', PayloadValidationError, 'a string'],
      ['a number', Anything, 5, PayloadValidationError, 'a number'],
      ['a boolean', Anything, false, PayloadValidationError, 'a boolean'],
      ['a bigint', Anything, 5n, PayloadValidationError, 'a bigint'],
      ['a symbol', Anything, Symbol('s'), PayloadValidationError, 'a symbol'],
    ];

    test('SIG-17 what cannot be stored is refused by its own error, and stores nothing', async () => {
      const { workflows, run, subject } = await startWaiting();
      const before = await allRows(sql);
      for (const [, signal, payload, kind, text] of REFUSED) {
        for (const call of [
          () => run.signal(signal as SignalDefinition, payload),
          () => workflows.signal(Ordered, subject, signal as SignalDefinition, payload),
        ]) {
          const error = await call().catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(kind);
          expect((error as Error).message).toContain(text);
        }
      }
      expect(await allRows(sql)).toEqual(before);
      await run.cancel();
    });

    test('SIG-17 the cap is the setting maxPayloadSize, to the byte', async () => {
      const { workflows } = await idle({ maxPayloadSize: 20 });
      const run = await workflows.start(Ordered, { subject: order() });
      const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
      await expect(run.signal(Anything, ofBytes(21))).rejects.toThrow(PayloadTooLargeError);
      expect(await run.signal(Anything, ofBytes(20))).toMatchObject({ status: 'pending' });
      expect(await signalsOf(sql, run)).toEqual(['anything pending']);
      await run.cancel();
    });
  });

  test('SIG-17 names and options of every wrong kind are refused before any SQL', async () => {
    const { workflows, dataSource } = await idle();
    const run = await workflows.start(Ordered, { subject: order() });
    const subject = new Order(run.subject!.id);
    const before = await allRows(sql);
    const names: unknown[] = [
      undefined, null, 5, 5n, true, Symbol('s'), [], {}, ['paid'], { name: 5 }, { name: '' }, { name: 'x', payload: 5 },
      () => 'paid', class paid {}, new Map(), '', '  ', 'a\0b', 'x'.repeat(256), '\ud800', { name: 'x'.repeat(256) },
    ]; // prettier-ignore
    const options: [SignalOptions, string][] = [
      [{ idempotencyKey: 5 as never }, 'idempotency key must be a string'],
      [{ idempotencyKey: 'x'.repeat(256) }, 'idempotency key has 256 characters'],
      [{ idempotencyKey: 'a\0' }, 'idempotency key has a NUL character'],
      [{ actor: 'x'.repeat(256) }, 'actor has 256 characters'],
      [{ actor: 5 as never }, 'actor must be a string'],
      [{ reason: {} as never }, 'reason must be a string'],
      [{ lockTimeout: 0 }, '"lockTimeout" is 0'],
      [{ lockTimeout: '5s' as never }, '"lockTimeout" is 5s'],
    ];
    // One transaction for all: had a statement failed in it, it would not commit.
    await dataSource.transaction(async (manager) => {
      for (const name of names) {
        for (const call of [
          run.signal(name as string, {}, { manager }),
          workflows.signal(Ordered, subject, name as string, {}, { manager }),
        ]) {
          await expect(call).rejects.toThrow(PayloadValidationError);
        }
      }
      for (const [option, text] of options) {
        for (const call of [
          run.signal('paid', {}, { ...option, manager }),
          workflows.signal(Ordered, subject, 'paid', {}, { ...option, manager }),
        ]) {
          const error = await call.catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(PayloadValidationError);
          expect((error as Error).message).toContain(text);
        }
      }
      for (const missing of ['maybe', 5, null]) {
        await expect(
          workflows.signal(Ordered, subject, 'paid', {}, { missing: missing as never, manager }),
        ).rejects.toThrow(PayloadValidationError);
      }
    });
    expect(await allRows(sql)).toEqual(before);
    // What is just about allowed.
    expect((await run.signal('x'.repeat(255), {}, { idempotencyKey: '€'.repeat(255) })).name).toHaveLength(255);
    await run.cancel();
  });

  describe('a run that is not there', () => {
    test('SIG-18 OPS-14 by handle on an ended run: NotOngoingError, and nothing is stored', async () => {
      const { run } = await startWaiting();
      await run.signal(Anything, { n: 1 }, { idempotencyKey: 'known' });
      await until(run, 'finished');
      const { workflows } = await idle();
      const cancelled = await workflows.start(Ordered, { subject: order() });
      await cancelled.signal(Anything, { n: 2 }, { idempotencyKey: 'known' });
      await cancelled.cancel();
      const before = await allRows(sql);
      for (const ended of [run, cancelled]) {
        await expect(ended.signal(Anything)).rejects.toThrow(NotOngoingError);
        await expect(ended.signal(Anything, {}, { idempotencyKey: 'new' })).rejects.toThrow(NotOngoingError);
        // AMB-16: a webhook's retry is no error, and writes nothing on an ended run.
        const again = await ended.signal(Anything, {}, { idempotencyKey: 'known' });
        expect(again).toMatchObject({ duplicateDelivery: true, payload: { n: ended === run ? 1 : 2 } });
      }
      expect(await allRows(sql)).toEqual(before);
      expect([run.status, cancelled.status]).toEqual(['finished', 'cancelled']);
    });

    test('SIG-18 by subject with nothing ongoing: raises, or null with missing: ignore', async () => {
      const { workflows } = await idle();
      const subject = order();
      const other = await workflows.start(OtherOrdered, { subject });
      const ended = await workflows.start(Ordered, { subject });
      await ended.signal(Anything, {}, { idempotencyKey: 'k' });
      await ended.cancel();
      await workflows.start(Ordered, { subject: order() }).then((run) => run.pause());
      const before = await allRows(sql);
      for (const options of [{}, { missing: 'raise' }, { idempotencyKey: 'k' }] as const) {
        await expect(workflows.signal(Ordered, subject, Anything, {}, options)).rejects.toThrow(NotOngoingError);
      }
      expect(await workflows.signal(Ordered, subject, Anything, {}, { missing: 'ignore' })).toBeNull();
      expect(await allRows(sql)).toEqual(before);
      // It goes to the class's own run, in each ongoing status, and to no other class's.
      const run = await workflows.start(Ordered, { subject });
      expect((await workflows.signal(Ordered, subject, Anything))!.workflowId).toBe(run.id);
      await run.pause();
      expect((await workflows.signal(Ordered, subject, Anything, {}, { missing: 'ignore' }))!.workflowId).toBe(run.id);
      expect(await signalsOf(sql, other)).toEqual([]);
      for (const left of await sql<{ id: string }>('select id from workflows where ended_at is null')) {
        await (await workflows.find(left.id)).cancel();
      }
    });

    test('SIG-18 a run without a subject is reachable by its handle only; a subject is needed, and one that can be', async () => {
      const { workflows } = await idle();
      const run = await workflows.start(Ordered);
      for (const none of [null, undefined]) {
        await expect(workflows.signal(Ordered, none as never, Anything)).rejects.toThrow(PayloadValidationError);
      }
      for (const wrong of [5, 'order-1', {}, new Date()]) {
        await expect(workflows.signal(Ordered, wrong as never, Anything)).rejects.toThrow(UnserializableValueError);
      }
      expect((await run.signal(Anything)).status).toBe('pending');
      await run.cancel();
      await sql('delete from workflows where id = $1', [run.id]);
      await sql('delete from workflow_events where workflow_id = $1', [run.id]);
      await expect(run.signal(Anything)).rejects.toThrow(WorkflowNotFoundError);
    });
  });

  describe('a class that is not loaded in the signalling process', () => {
    test('SIG-18 a signal needs its list of steps: WorkflowDefinitionError, whatever the status, and nothing is stored', async () => {
      const { run, workflows, subject } = await startWaiting();
      const ready = await (await idle()).workflows.start(Signalled, signalScript());
      const { workflows: elsewhere } = await suite.boot([], { worker: false });
      await ready.pause();
      // The worker that parked the first run may have taken this one before the pause.
      const atWork = `select id from workflow_steps where status = 'in_progress'`;
      await suite.eventually(async () => (await sql(atWork)).length === 0, 'no body is at work');
      const before = await allRows(sql);
      for (const { id } of [run, ready]) {
        const there = await elsewhere.find(id);
        await expect(there.signal(Anything)).rejects.toThrow(WorkflowDefinitionError);
        await expect(there.signal(Anything)).rejects.toThrow('not loaded in this process');
      }
      await expect(elsewhere.signal(Ordered, subject, Anything)).rejects.toThrow(WorkflowDefinitionError);
      expect(await allRows(sql)).toEqual(before);
      await ready.cancel();
      // Nor is there anything to say about a run that has ended.
      const gone = await elsewhere.find(ready.id);
      await expect(gone.signal(Anything)).rejects.toThrow(NotOngoingError);
      await workflows.signal(Ordered, subject, Anything);
      await until(run, 'finished');
    });
  });

  test('SIG-05 lockTimeout bounds the wait for whoever holds the run, by handle and by subject', async () => {
    const { run, workflows, subject, dataSource } = await startWaiting();
    const before = await allRows(sql);
    const lock = await holdRuns(suite, [run.id]);
    await expect(run.signal(Anything, {}, { lockTimeout: 20 })).rejects.toThrow(LockTimeoutError);
    await expect(workflows.signal(Ordered, subject, Anything, {}, { lockTimeout: 20 })).rejects.toThrow(
      LockTimeoutError,
    );
    // In the caller's transaction, which goes on.
    await dataSource.transaction(async (manager) => {
      await expect(run.signal(Anything, {}, { manager, lockTimeout: 20 })).rejects.toThrow(LockTimeoutError);
      expect(await manager.query('show lock_timeout')).toEqual([{ lock_timeout: '0' }]);
    });
    await lock.release();
    expect(await allRows(sql)).toEqual(before);
    await run.signal(Anything, {}, { lockTimeout: 20 });
    await until(run, 'finished');
    expect((await trail(run)).filter((name) => name === 'signal_received')).toHaveLength(1);
  });
});
