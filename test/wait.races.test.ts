import { Client } from 'pg';
import { InvalidTransitionError, NotOngoingError, type TimeoutAction, type WorkflowHandle } from 'nestjs-pg-workflows';
import { ENGINE_PARTS, type EngineParts } from '../libs/workflow/src/engine/engine.parts';
import { fireDeadline } from '../libs/workflow/src/engine/deadline';
import { RACE_ROUNDS } from './support/rounds';
import { brokenInvariants } from './support/invariants';
import { untilWaitingForLocks } from './support/locks';
import { workflowSuite, type TestApp } from './support/suite';
import { seenBy, waiting } from './support/waits';

const ROUNDS = RACE_ROUNDS;
/** Rounds under way at once, each with two connections. */
const AT_ONCE = 25;
/** Rounds with workers, whose bodies run too. */
const WORKED = 400;
const GATE = 4_711;

const CLASSES = {
  pause: waiting({ waitTimeout: '1 hour' }),
  cancel: waiting({ waitTimeout: '1 hour', onTimeout: 'cancel' }),
  skip: waiting({ waitTimeout: '1 hour', onTimeout: 'skip' }),
  run: waiting({ waitTimeout: '1 hour', onTimeout: 'run' }),
  notify: waiting({ waitTimeout: '1 hour', onTimeout: 'notify' }),
} satisfies Record<TimeoutAction, unknown>;
const ACTIONS = Object.keys(CLASSES) as TimeoutAction[];

/** What a time-out writes. */
const FIRED: Record<TimeoutAction, string[]> = {
  pause: ['wait_timed_out', 'step_failed', 'paused'],
  cancel: ['wait_timed_out', 'cancelled'],
  skip: ['wait_timed_out', 'step_skipped', 'step_scheduled'],
  run: ['wait_timed_out'],
  notify: ['wait_timed_out'],
};

interface Race {
  readonly against: string;
  readonly actions: readonly TimeoutAction[];
  readonly prepare?: (run: WorkflowHandle) => Promise<unknown>;
  readonly call: (run: WorkflowHandle) => Promise<unknown>;
  /** The event at which it is held. */
  readonly event: string;
  /** What it writes when it comes first. */
  readonly first: string[];
  /** And after the time-out; null: it is refused, and writes nothing. */
  readonly second: (action: TimeoutAction) => string[] | null;
  /** It sends one: what loses stays pending (after `cancel` it is refused), what wins is the step's. */
  readonly signal?: boolean;
  /** The deadline fires after it all the same. */
  readonly firesAfter?: boolean;
}

const ended = (action: TimeoutAction) => action === 'cancel';
const SKIPPED = ['step_skipped', 'step_scheduled'];

const RACES: Race[] = [
  {
    against: 'a signal',
    actions: ['pause', 'cancel', 'skip', 'run'],
    call: (run) => run.signal('go'),
    event: 'signal_received',
    first: ['signal_received', 'signal_claimed'],
    second: (action) => (ended(action) ? null : ['signal_received']),
    signal: true,
  },
  {
    against: 'a signal, under notify,',
    actions: ['notify'],
    call: (run) => run.signal('go'),
    event: 'signal_received',
    first: ['signal_received', 'signal_claimed'],
    second: () => ['signal_received', 'signal_claimed'],
    signal: true,
  },
  {
    against: 'pause',
    actions: ACTIONS,
    call: (run) => run.pause(),
    event: 'paused',
    first: ['paused'],
    second: (action) => (ended(action) || action === 'pause' ? null : ['paused']),
  },
  {
    against: 'resume',
    actions: ACTIONS,
    prepare: (run) => run.pause(),
    call: (run) => run.resume(),
    event: 'resumed',
    first: ['resumed'],
    second: () => null,
    firesAfter: true,
  },
  {
    against: 'cancel',
    actions: ACTIONS,
    call: (run) => run.cancel(),
    event: 'cancelled',
    first: ['cancelled'],
    second: (action) => (ended(action) ? null : ['cancelled']),
  },
  {
    against: 'skip',
    actions: ACTIONS,
    call: (run) => run.skip(),
    event: 'step_skipped',
    first: SKIPPED,
    second: (action) => (action === 'notify' ? SKIPPED : null),
  },
];

type Order = 'the deadline first' | 'the other first' | 'at once';
const ORDERS: Order[] = ['the deadline first', 'the other first', 'at once'];

const many = (count: number) => Array.from({ length: count }, () => ({}));

describe('deadlines race', () => {
  const suite = workflowSuite();
  const { sql } = suite;

  /** An event of a name that stands in `held` is written once the gate is open; its run is locked meanwhile. */
  beforeAll(() =>
    sql(`
      create table held (name text);
      create function hold() returns trigger language plpgsql as $$ begin
        if exists (select from held where name = new.name) then perform pg_advisory_xact_lock_shared(${GATE}); end if;
        return new;
      end $$;
      create trigger hold before insert on workflow_events for each row execute function hold()`),
  );

  async function closeGate(name: string) {
    const client = new Client({ connectionString: suite.database.url });
    await client.connect();
    await client.query('select pg_advisory_lock($1)', [GATE]);
    await sql('insert into held values ($1)', [name]);
    return async () => {
      await sql('delete from held');
      await client.end();
    };
  }

  /** Runs that wait, with a deadline that has passed, in rows and trail as a worker leaves them; by their rows' ids. */
  async function park({ workflows }: TestApp, action: TimeoutAction) {
    const runs = await workflows.startMany(CLASSES[action], many(AT_ONCE));
    const rows = await sql<{ id: string; workflow_id: string }>(
      `with parked as (
         update workflow_steps set status = 'waiting', available_at = null, wait_for = 'go', waiting_since = statement_timestamp(),
                                   timeout_at = statement_timestamp() - interval '1 second'
         where workflow_id = any($1) returning id, workflow_id
       ), runs as (
         update workflows set status = 'waiting' where id = any($1)
       ), trail as (
         insert into workflow_events (workflow_id, step_id, name, actor, details)
         select workflow_id, id, 'step_waiting', 'system', '{"wait_for": "go"}' from parked
       ) select id, workflow_id from parked`,
      [runs.map(({ id }) => id)],
    );
    return rows.map((row) => ({ id: row.id, workflowId: row.workflow_id }));
  }

  async function trails(ids: readonly string[]) {
    const rows = await sql<{ workflow_id: string; names: string[] }>(
      'select workflow_id, json_agg(name order by id) as names from workflow_events where workflow_id = any($1) group by workflow_id',
      [ids],
    );
    return new Map(rows.map((row) => [row.workflow_id, row.names]));
  }

  async function signalsOf(ids: readonly string[]) {
    const rows = await sql<{ workflow_id: string; status: string }>(
      'select workflow_id, status from workflow_signals where workflow_id = any($1)',
      [ids],
    );
    return new Map(rows.map((row) => [row.workflow_id, row.status]));
  }

  /** One batch: `first` and `later` tell whether the deadline fired when both were called, and at the look after. */
  async function runBatch(race: Race, order: Order, action: TimeoutAction, [fires, acts]: readonly TestApp[]) {
    const parts = fires.app.get<EngineParts>(ENGINE_PARTS);
    const parked = await park(fires, action);
    const ids = parked.map(({ workflowId }) => workflowId);
    const handles = await Promise.all(ids.map((id) => acts.workflows.find(id)));
    if (race.prepare) await Promise.all(handles.map(race.prepare));
    const fire = async () =>
      (await Promise.all(parked.map((due) => fireDeadline(parts, due)))).map(({ fired }) => fired);
    const act = async () =>
      (await Promise.allSettled(handles.map(race.call))).map((one) =>
        one.status === 'rejected' ? (one.reason as Error).constructor : null,
      );

    const both = async (): Promise<[boolean[], unknown[]]> => {
      if (order === 'at once') return Promise.all([fire(), act()]);
      if (order === 'the deadline first') {
        const open = await closeGate('wait_timed_out');
        const firing = fire();
        await untilWaitingForLocks(suite, AT_ONCE);
        const acting = act();
        await untilWaitingForLocks(suite, 2 * AT_ONCE);
        await open();
        return Promise.all([firing, acting]);
      }
      const open = await closeGate(race.event);
      const acting = act();
      await untilWaitingForLocks(suite, AT_ONCE);
      // It does not wait for who holds the run: that is for the look after.
      const fired = await fire();
      await open();
      return [fired, await acting];
    };
    const [first, refusals] = await both();
    const later = await fire();
    const walked = await trails(ids);
    const signals = await signalsOf(ids);
    return ids.map((id, index) => ({
      first: first[index],
      later: later[index],
      refusal: refusals[index],
      walked: walked.get(id),
      signal: signals.get(id) ?? null,
    }));
  }

  /** What must have come of one run, given who was first. */
  function expected(race: Race, order: Order, action: TimeoutAction, cameFirst: boolean) {
    const first = order === 'at once' ? cameFirst : order === 'the deadline first';
    const base = ['started', 'step_scheduled', 'step_waiting', ...(race.prepare ? ['paused'] : [])];
    if (race.firesAfter) {
      const walked = [...base, ...race.first, ...FIRED[action]];
      return { first, later: !first, refusal: null, walked, signal: null };
    }
    const second = first ? race.second(action) : null;
    const refused = first && second === null;
    const signal = race.signal ? (first && action !== 'notify' ? (refused ? null : 'pending') : 'claimed') : null;
    const walked = [...base, ...(first ? [...FIRED[action], ...(second ?? [])] : race.first)];
    const Refusal = race.signal ? NotOngoingError : InvalidTransitionError;
    return { first, later: false, refusal: refused ? Refusal : null, walked, signal };
  }

  test.each(RACES)(
    `WAIT-08 WAIT-10 WAIT-11 WAIT-22 OPS-18 OPS-33 $against against the deadline, ${ROUNDS} times: one comes first, and the other meets that`,
    async (race) => {
      const apps = await Promise.all([
        suite.boot(Object.values(CLASSES), { worker: false, poolSize: 2 * AT_ONCE + 4 }),
        suite.boot(Object.values(CLASSES), { worker: false, poolSize: AT_ONCE + 2 }),
      ]);
      // A paused run's deadline cannot come first.
      const orders = ORDERS.filter((order) => !race.firesAfter || order !== 'the deadline first');
      const wins: boolean[] = [];
      for (let batch = 0; batch * AT_ONCE < ROUNDS; batch += 1) {
        const action = race.actions[batch % race.actions.length];
        const order = orders[Math.floor(batch / race.actions.length) % orders.length];
        const came = await runBatch(race, order, action, apps);
        expect(came).toEqual(came.map(({ first }) => expected(race, order, action, first)));
        wins.push(...came.map(({ first }) => first));
        expect(await brokenInvariants({ query: sql })).toEqual([]);
        await sql('delete from workflows');
        await sql('delete from workflow_events');
      }
      expect(wins).toHaveLength(ROUNDS);
    },
    120_000,
  );

  test(`WAIT-06 WAIT-10 WAIT-11 signals race the deadlines that two workers fire, ${WORKED} times: each body runs once, with the signal or timed out`, async () => {
    const Run = CLASSES.run;
    const boot = () => suite.boot([Run], { worker: { pollInterval: 20 } });
    const [here, there, outside] = await Promise.all([
      boot(),
      boot(),
      suite.boot([Run], { worker: false, poolSize: 12 }),
    ]);
    const size = 100;
    for (let round = 0; round < WORKED; round += size) {
      const { workflows } = round % (2 * size) ? here : there;
      const runs = await workflows.startMany(Run, many(size));
      const ids = runs.map(({ id }) => id);
      await suite.eventually(async () => (await count('waiting', ids)) === size, 'they wait');
      const handles = await Promise.all(ids.map((id) => outside.workflows.find(id)));
      const [delivered] = await Promise.all([
        Promise.all(handles.map((run) => run.signal('go'))),
        // In ten portions, so that the looks of both workers lie among the signals.
        (async () => {
          for (let portion = 0; portion < 10; portion += 1) {
            await sql(
              `update workflow_steps set timeout_at = statement_timestamp() - interval '1 second'
               where workflow_id = any($1) and status = 'waiting'`,
              [ids.filter((_, index) => index % 10 === portion)],
            );
          }
        })(),
      ]);
      await suite.eventually(async () => (await count('finished', ids)) === size, 'they have finished');
      const walked = await trails(ids);
      for (const [index, id] of ids.entries()) {
        const [seen, ...more] = seenBy(id);
        expect(more).toEqual([]);
        const won = delivered[index].status === 'claimed';
        expect(seen).toMatchObject({ attempt: 1, timedOut: !won, woken: won, ready: won });
        expect(walked.get(id)!.filter((name) => name === 'wait_timed_out' || name === 'signal_claimed')).toEqual([
          won ? 'signal_claimed' : 'wait_timed_out',
        ]);
      }
      expect(await brokenInvariants({ query: sql })).toEqual([]);
      await sql('delete from workflows');
      await sql('delete from workflow_events');
    }
  }, 120_000);

  async function count(status: string, ids: readonly string[]): Promise<number> {
    const [row] = await sql<{ count: number }>(
      `select count(*)::int as count from workflows where id = any($1) and status = $2`,
      [ids, status],
    );
    return row.count;
  }
});
