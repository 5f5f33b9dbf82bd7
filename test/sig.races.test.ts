import {
  InvalidTransitionError,
  NotOngoingError,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type DeliveredSignal,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { RACE_ROUNDS } from './support/rounds';
import { brokenInvariants } from './support/invariants';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { Paid } from './support/signalled';
import { gate, workflowSuite, type TestApp } from './support/suite';

jest.setTimeout(120_000);

const ROUNDS = RACE_ROUNDS;
/** Rounds under way at once, each with two connections that wait for one lock. */
const AT_ONCE = 40;

/** How often each run's body ran, and with what. */
const bodies = new Map<string, number[]>();

function ran(ctx: { workflowId: string; receivedSignal: { payload: { amount?: number } } }): void {
  bodies.set(ctx.workflowId, [...(bodies.get(ctx.workflowId) ?? []), ctx.receivedSignal.payload.amount!]);
}

@Workflow()
class Raced extends WorkflowOf {
  @Step({ waitFor: Paid })
  async pay(ctx: Ctx<this, typeof Paid>) {
    ran(ctx);
  }

  @Step()
  async last() {}
}

@Workflow()
class Delayed extends WorkflowOf {
  @Step({ waitFor: Paid, wait: '1 hour' })
  async pay(ctx: Ctx<this, typeof Paid>) {
    ran(ctx);
  }
}

/** Its guard holds the run's lock, on the way to the gate, until the test lets it go on. */
@Workflow()
class HeldAtGate extends WorkflowOf {
  static reached = 0;
  static goOn = gate();

  @Step({ waitFor: Paid, skipIf: 'stop' })
  async pay(ctx: Ctx<this, typeof Paid>) {
    ran(ctx);
  }

  async stop() {
    HeldAtGate.reached += 1;
    await HeldAtGate.goOn.opened;
  }
}

/** A run as a race left it. */
interface Left {
  readonly id: string;
  readonly status: string;
  readonly steps: string[];
  readonly signals: string[];
  readonly trail: string[];
}

describe('a signal against whoever else changes its run, from two processes', () => {
  // Registered first: a guard that still waits would keep the application from closing.
  afterEach(() => HeldAtGate.goOn.open());

  const suite = workflowSuite();
  const { sql } = suite;
  const PROVIDERS = [Raced, Delayed, HeldAtGate];
  const blanks = (count: number) => Array.from({ length: count }, () => ({}));
  const idle = () => suite.boot(PROVIDERS, { worker: false, poolSize: AT_ONCE + 2 });
  const working = () => suite.boot(PROVIDERS, { worker: { concurrency: 40, connections: 22 }, poolSize: 44 });

  beforeEach(async () => {
    bodies.clear();
    HeldAtGate.goOn.open();
    await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  const leftOf = (ids: readonly string[]) =>
    sql<Left>(
      `select w.id, w.status,
         (select json_agg(concat_ws(' ', s.step_name, s.attempt, s.status) order by s.id) from workflow_steps s
          where s.workflow_id = w.id) as steps,
         (select coalesce(json_agg(g.status order by g.id), '[]') from workflow_signals g where g.workflow_id = w.id) as signals,
         (select json_agg(e.name order by e.id) from workflow_events e where e.workflow_id = w.id) as trail
       from workflows w where w.id = any($1::uuid[]) order by array_position($1::uuid[], w.id)`,
      [ids],
    );
  /** Every run there is: the tables are empty before a test. */
  const untilAll = (status: string) =>
    suite.eventually(async () => {
      const others = await sql('select from workflows where status <> $1 limit 1', [status]);
      return others.length === 0;
    }, `all runs are ${status}`);
  const assertWhole = async () => expect(await brokenInvariants({ query: sql })).toEqual([]);

  /** Runs that wait at their gate, with the rows that a worker would have written. */
  async function park(count: number): Promise<string[]> {
    const { workflows, close } = await idle();
    const ids = (await workflows.startMany(Raced, blanks(count))).map(({ id }) => id);
    await close();
    await sql(`with parked as (
        update workflow_steps set status = 'waiting', available_at = null, wait_for = 'paid', waiting_since = statement_timestamp()
        where status = 'scheduled' returning id, workflow_id
      ), runs as (
        update workflows set status = 'waiting'
      )
      insert into workflow_events (workflow_id, step_id, name, actor, details)
      select workflow_id, id, 'step_waiting', 'system', '{"wait_for": "paid"}' from parked`);
    await assertWhole();
    return ids;
  }

  const handles = ({ workflows }: TestApp, ids: readonly string[]) => Promise.all(ids.map((id) => workflows.find(id)));

  function* batches<T>(all: readonly T[], size = AT_ONCE): Generator<T[]> {
    for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
  }

  /** Both calls of each run wait for its lock, which somebody else holds: first `first`, then `second`. */
  async function race<A, B>(
    ids: readonly string[],
    first: (at: number) => Promise<A>,
    second: (at: number) => Promise<B>,
  ): Promise<[PromiseSettledResult<A>, PromiseSettledResult<B>][]> {
    const lock = await holdRuns(suite, ids);
    const firsts = Promise.allSettled(ids.map((_, at) => first(at)));
    await untilWaitingForLocks(suite, ids.length);
    const seconds = Promise.allSettled(ids.map((_, at) => second(at)));
    await untilWaitingForLocks(suite, 2 * ids.length);
    await lock.release();
    const [one, other] = await Promise.all([firsts, seconds]);
    return ids.map((_, at) => [one[at], other[at]]);
  }

  /** With a worker there, all of them finish; those whose signal was taken have run with it once. */
  async function drain(ids: readonly string[]): Promise<void> {
    await working();
    await untilAll('finished');
    for (const { id, signals } of await leftOf(ids)) {
      expect([id, bodies.get(id) ?? [], signals]).toEqual(
        signals[0] === 'consumed' ? [id, [7], signals] : [id, [], ['pending']],
      );
    }
  }

  const PARKED = ['step_waiting', 'signal_received', 'signal_claimed', 'step_started'];
  const TAKEN = ['signal_received', 'signal_claimed', 'step_started'];

  describe('the gate', () => {
    const assertTaken = async (ids: readonly string[], allowed: string[][]) => {
      await untilAll('finished');
      for (const left of await leftOf(ids)) {
        expect(left.signals).toEqual(['consumed']);
        expect(bodies.get(left.id)).toEqual([7]);
        const way = left.trail.slice(2, left.trail.indexOf('step_started') + 1);
        expect(allowed).toContainEqual(way);
      }
      await assertWhole();
    };

    test(`SIG-07 the gate holds the lock and the signal waits for it: the row parks, and is woken (${ROUNDS} times)`, async () => {
      const [here, there] = await Promise.all([idle(), working()]);
      const size = 20;
      for (let round = 0; round < ROUNDS; round += size) {
        HeldAtGate.reached = 0;
        HeldAtGate.goOn = gate();
        const runs = await there.workflows.startMany(HeldAtGate, blanks(size));
        const ids = runs.map(({ id }) => id);
        await suite.eventually(() => HeldAtGate.reached === size, 'all guards hold their locks');
        const sent = Promise.all((await handles(here, ids)).map((run) => run.signal(Paid, { amount: 7 })));
        await untilWaitingForLocks(suite, size);
        HeldAtGate.goOn.open();
        expect((await sent).map(({ status }) => status)).toEqual(ids.map(() => 'claimed'));
        await assertTaken(ids, [PARKED]);
      }
    });

    test(`SIG-07 the signal holds the lock and the claim passes by: the gate takes it, without a wait (${ROUNDS} times)`, async () => {
      const [here, there] = await Promise.all([idle(), working()]);
      for (let round = 0; round < ROUNDS; round += AT_ONCE) {
        const runs = await here.workflows.startMany(Delayed, blanks(AT_ONCE));
        const ids = runs.map(({ id }) => id);
        await here.dataSource.transaction(async (manager) => {
          for (const run of runs) {
            expect((await run.signal(Paid, { amount: 7 }, { manager })).status).toBe('pending');
          }
          await sql(
            'update workflow_steps set available_at = statement_timestamp() where workflow_id = any($1::uuid[])',
            [ids],
          );
          // The worker takes what is due after them, so it has looked at them.
          const other = await there.workflows.start(Raced);
          await suite.until(other, 'waiting');
          await other.signal(Paid, { amount: 7 });
          await suite.until(other, 'finished');
          expect((await leftOf(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'ready'));
        });
        await assertTaken(ids, [TAKEN]);
      }
    });

    test(`SIG-07 nobody orders them (${ROUNDS} times): whichever comes first, the step has its signal`, async () => {
      const [here, there] = await Promise.all([idle(), working()]);
      const ways = new Set<string>();
      for (let round = 0; round < ROUNDS; round += AT_ONCE) {
        const runs = await here.workflows.startMany(Raced, blanks(AT_ONCE));
        const sent = await Promise.all(
          runs.map(async (run, at) => {
            const sender = at % 2 ? run : await there.workflows.find(run.id);
            return sender.signal(Paid, { amount: 7 });
          }),
        );
        for (const { status } of sent) ways.add(status);
        await assertTaken(
          runs.map(({ id }) => id),
          [PARKED, TAKEN],
        );
      }
      // Which of them there were is luck; that each is right was asserted round by round.
      expect(['claimed', 'pending']).toEqual(expect.arrayContaining([...ways]));
    });
  });

  test(`SIG-12 SIG-11 two deliveries of one key: one row, one wake, one duplicate (${ROUNDS} times)`, async () => {
    const ids = await park(ROUNDS);
    const [here, there] = await Promise.all([idle(), idle()]);
    for (const batch of batches(ids)) {
      const [ours, theirs] = await Promise.all([handles(here, batch), handles(there, batch)]);
      const send = (runs: WorkflowHandle[], amount: number) => (at: number) =>
        runs[at].signal(Paid, { amount }, { idempotencyKey: 'evt', actor: `caller ${amount}` });
      const results = await race(batch, send(ours, 7), send(theirs, 8));
      for (const [one, other] of results) {
        const [first, second] = [one, other].map((result) => (result as PromiseFulfilledResult<DeliveredSignal>).value);
        expect(first).toMatchObject({ duplicateDelivery: false, payload: { amount: 7 }, status: 'claimed' });
        expect(second).toEqual({ ...first, duplicateDelivery: true });
      }
      for (const left of await leftOf(batch)) {
        expect(left).toMatchObject({ status: 'ready', steps: ['pay 1 scheduled'], signals: ['claimed'] });
        expect(left.trail.slice(3)).toEqual(['signal_received', 'signal_claimed', 'signal_received']);
      }
      await assertWhole();
    }
    await drain(ids);
  });

  interface Race {
    readonly verb: string;
    /** What the run needs before. */
    readonly prepare?: (run: WorkflowHandle) => Promise<unknown>;
    readonly call: (run: WorkflowHandle) => Promise<unknown>;
    /** How the run is left, by who came first; the trail from the signal or the verb on. */
    readonly signalFirst: Omit<Left, 'id'> & { readonly refused?: new (...args: never[]) => Error };
    readonly verbFirst: Omit<Left, 'id'> & { readonly refused?: new (...args: never[]) => Error };
    readonly end?: (run: WorkflowHandle) => Promise<unknown>;
  }
  const SIGNAL = ['signal_received', 'signal_claimed'];
  const CLAIMED = { steps: ['pay 1 scheduled'], signals: ['claimed'] };
  const RACES: Race[] = [
    {
      verb: 'pause',
      call: (run) => run.pause(),
      signalFirst: { status: 'paused', ...CLAIMED, trail: [...SIGNAL, 'paused'] },
      verbFirst: { status: 'paused', ...CLAIMED, trail: ['paused', ...SIGNAL] },
      end: (run) => run.resume(),
    },
    {
      verb: 'resume',
      prepare: (run) => run.pause(),
      call: (run) => run.resume(),
      signalFirst: { status: 'ready', ...CLAIMED, trail: ['paused', ...SIGNAL, 'resumed'] },
      verbFirst: { status: 'ready', ...CLAIMED, trail: ['paused', 'resumed', ...SIGNAL] },
    },
    {
      verb: 'skip',
      call: (run) => run.skip(),
      signalFirst: { status: 'ready', ...CLAIMED, trail: SIGNAL, refused: InvalidTransitionError },
      verbFirst: {
        status: 'ready',
        steps: ['pay 1 skipped', 'last 1 scheduled'],
        signals: ['pending'],
        trail: ['step_skipped', 'step_scheduled', 'signal_received'],
      },
    },
    {
      verb: 'cancel',
      call: (run) => run.cancel(),
      signalFirst: {
        status: 'cancelled',
        steps: ['pay 1 cancelled'],
        signals: ['consumed'],
        trail: [...SIGNAL, 'cancelled'],
      },
      verbFirst: {
        status: 'cancelled',
        steps: ['pay 1 cancelled'],
        signals: [],
        trail: ['cancelled'],
        refused: NotOngoingError,
      },
    },
  ];

  test.each(RACES)(
    `SIG-03 SIG-19 OPS-18 signal against $verb (${ROUNDS} times): each order ends as the one after the other would`,
    async ({ verb, prepare, call, signalFirst, verbFirst, end }) => {
      const ids = await park(ROUNDS);
      const [here, there] = await Promise.all([idle(), idle()]);
      let signalIsFirst = false;
      for (const batch of batches(ids)) {
        signalIsFirst = !signalIsFirst;
        const [ours, theirs] = await Promise.all([handles(here, batch), handles(there, batch)]);
        if (prepare) await Promise.all(ours.map((run) => prepare(run)));
        const signal = (at: number): Promise<unknown> => ours[at].signal(Paid, { amount: 7 });
        const act = (at: number) => call(theirs[at]);
        const { refused, ...left } = signalIsFirst ? signalFirst : verbFirst;
        for (const [first, second] of await race(
          batch,
          ...(signalIsFirst ? ([signal, act] as const) : ([act, signal] as const)),
        )) {
          expect(first.status).toBe('fulfilled');
          const reason = second.status === 'rejected' ? (second.reason as Error).constructor : undefined;
          expect(reason).toBe(refused);
        }
        for (const [at, { id, trail, ...of }] of (await leftOf(batch)).entries()) {
          expect({ ...of, trail: trail.slice(3) }).toEqual(left);
          expect(id).toBe(batch[at]);
        }
        await assertWhole();
        if (end) await Promise.all(theirs.map((run) => end(run)));
      }
      if (verb !== 'cancel') await drain(ids);
    },
  );
});
