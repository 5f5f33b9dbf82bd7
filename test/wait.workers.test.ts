import { Step, Workflow, WorkflowOf, type StepContext } from 'nestjs-pg-workflows';
import { holdRuns } from './support/locks';
import { gate, workflowSuite } from './support/suite';
import { passDeadline, seenBy, timeOuts, waiting } from './support/waits';

const Soon = waiting({ waitTimeout: 150, onTimeout: 'run' });
const Hourly = waiting({ waitTimeout: '1 hour', onTimeout: 'run' });
const Notified = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });
const RARELY = { worker: { pollInterval: '1h' } } as const;

const many = (count: number) => Array.from({ length: count }, () => ({}));

describe('who fires deadlines', () => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;

  /** No notice of a deadline came before it. */
  const firedEarly = () =>
    sql(
      `select e.workflow_id, e.created_at, e.details->>'timeout_at' as timeout_at from workflow_events e
       where e.name = 'wait_timed_out' and e.created_at < (e.details->>'timeout_at')::timestamptz`,
    );

  test('WAIT-02 a worker that parked a run fires its deadline by a timer, however rarely it polls, and never early', async () => {
    const { workflows } = await suite.boot([Soon], RARELY);
    const runs = await workflows.startMany(Soon, many(20));
    for (const run of runs) await until(run, 'finished');
    for (const run of runs) {
      expect(seenBy(run)).toEqual([expect.objectContaining({ timedOut: true })]);
      expect(await timeOuts(sql, run)).toHaveLength(1);
    }
    expect(await firedEarly()).toEqual([]);
  });

  test('WAIT-02 the timer goes on from one deadline to the next, and from notice to notice', async () => {
    const Often = waiting({ waitTimeout: 40, onTimeout: 'notify' });
    const { workflows } = await suite.boot([Soon, Often], RARELY);
    const often = await workflows.start(Often);
    const runs = await workflows.startMany(Soon, [{}, {}]);
    for (const run of runs) await until(run, 'finished');
    await eventually(async () => (await timeOuts(sql, often)).length >= 5, 'the notices go on');
    const notices = await timeOuts(sql, often);
    const grid = notices.map(
      ({ timeout_at: at }) => Date.parse(at as string) - Date.parse(notices[0].timeout_at as string),
    );
    for (const place of grid) expect(place % 40).toBe(0);
    expect(await firedEarly()).toEqual([]);
    await often.cancel();
  });

  test('WAIT-02 when the worker that parked it is gone, one that polls fires it', async () => {
    const parks = await suite.boot([Hourly], RARELY);
    const run = await parks.workflows.start(Hourly);
    await until(run, 'waiting');
    await parks.close();
    await suite.boot([Hourly]);
    const at = await passDeadline(sql, run);
    await until(run, 'finished');
    expect(await timeOuts(sql, run)).toEqual([{ wait_for: 'go', action: 'run', timeout_at: at }]);
  });

  test('WAIT-02 a worker that starts fires at once what passed while none was up', async () => {
    const parks = await suite.boot([Hourly], RARELY);
    const run = await parks.workflows.start(Hourly);
    await until(run, 'waiting');
    await parks.close();
    await passDeadline(sql, run, '3 days');
    await suite.boot([Hourly], RARELY);
    await until(run, 'finished');
    expect(seenBy(run)).toEqual([expect.objectContaining({ timedOut: true })]);
  });

  test('WAIT-02 WAIT-23 three workers fire each deadline once', async () => {
    const apps = await Promise.all(
      [1, 2, 3].map(() => suite.boot([Hourly, Notified], { worker: { pollInterval: 20 } })),
    );
    const [{ workflows }] = apps;
    const runs = [...(await workflows.startMany(Hourly, many(60))), ...(await workflows.startMany(Notified, many(60)))];
    const ids = runs.map(({ id }) => id);
    const having = async (condition: string) =>
      (await sql(`select from workflows w where w.id = any($1) and ${condition}`, [ids])).length;
    await eventually(async () => (await having(`status = 'waiting'`)) === ids.length, 'they wait');
    await sql(
      `update workflow_steps set timeout_at = statement_timestamp() - interval '1 minute' where status = 'waiting' and workflow_id = any($1)`,
      [ids],
    );
    const noticed = `exists (select from workflow_events e where e.workflow_id = w.id and e.name = 'wait_timed_out')`;
    await eventually(async () => (await having(noticed)) === ids.length, 'all have fired');
    await eventually(async () => (await having(`status = 'finished'`)) === 60, 'the bodies have run');
    await Promise.all(apps.map(({ close }) => close()));

    for (const run of runs) expect(await timeOuts(sql, run)).toHaveLength(1);
    for (const run of runs.slice(0, 60)) expect(seenBy(run)).toEqual([expect.objectContaining({ timedOut: true })]);
    expect(await having(`status = 'waiting'`)).toBe(60);
  });

  test('WAIT-02 a run that somebody holds is passed over: others fire meanwhile, and it does soon after, without a poll', async () => {
    const parks = await suite.boot([Hourly], RARELY);
    const [held, free] = await parks.workflows.startMany(Hourly, [{}, {}]);
    await until(held, 'waiting');
    await until(free, 'waiting');
    await parks.close();
    await passDeadline(sql, held, '1 minute');
    await passDeadline(sql, free);
    const lock = await holdRuns(suite, [held.id]);
    await suite.boot([Hourly], RARELY);
    await until(free, 'finished');
    expect(await until(held, 'waiting')).toBe('waiting');
    await lock.release();
    await until(held, 'finished');
    expect(await timeOuts(sql, held)).toHaveLength(1);
  });

  test('WAIT-02 SWEEP-15 one whose time-out cannot be applied is logged and does not keep the others', async () => {
    await sql(`
      create function refuse_one() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`);
    const { workflows } = await suite.boot([Hourly]);
    const [broken, ...fine] = await workflows.startMany(Hourly, many(12));
    for (const run of [broken, ...fine]) await until(run, 'waiting');
    await sql(
      `create trigger refuse_one before insert on workflow_events for each row
       when (new.name = 'wait_timed_out' and new.workflow_id = '${broken.id}') execute function refuse_one()`,
    );
    await passDeadline(sql, broken, '1 hour');
    for (const run of fine) await passDeadline(sql, run);
    for (const run of fine) await until(run, 'finished');
    expect(await until(broken, 'waiting')).toBe('waiting');
    await sql('drop trigger refuse_one on workflow_events');
    await until(broken, 'finished');
  });

  test('WAIT-02 WAIT-24 callables that take their time at a notice do not keep the deadlines of others', async () => {
    const go = gate();
    let slow = false;
    let asked = 0;
    const Slow = waiting({
      waitTimeout() {
        if (!slow) return '1 hour';
        asked += 1;
        return go.opened.then(() => null);
      },
      onTimeout: 'notify',
    });
    const { workflows } = await suite.boot([Slow, Hourly]);
    const slowOnes = await workflows.startMany(Slow, [{}, {}]);
    const run = await workflows.start(Hourly);
    for (const one of [...slowOnes, run]) await until(one, 'waiting');
    slow = true;
    for (const one of slowOnes) await passDeadline(sql, one, '1 hour');
    await eventually(() => asked === 2, 'they are asked');
    await passDeadline(sql, run);
    await until(run, 'finished').finally(() => go.open());
    expect(seenBy(run)).toEqual([expect.objectContaining({ timedOut: true })]);
    for (const one of slowOnes) {
      await eventually(async () => (await timeOuts(sql, one)).length === 1, 'the notice is given');
    }
  });

  test('AMB-22 deadlines of classes that this process has not loaded are left to those that have', async () => {
    const Elsewhere = waiting({ waitTimeout: '1 hour', onTimeout: 'run' });
    const parks = await suite.boot([Elsewhere], RARELY);
    const run = await parks.workflows.start(Elsewhere);
    await until(run, 'waiting');
    await parks.close();
    await passDeadline(sql, run);
    const { workflows } = await suite.boot([Hourly]);
    const other = await workflows.start(Hourly);
    await until(other, 'waiting');
    await passDeadline(sql, other);
    await until(other, 'finished');
    expect(await until(run, 'waiting')).toBe('waiting');
    await suite.boot([Elsewhere]);
    await until(run, 'finished');
  });

  test('WAIT-02 a stop waits for the deadline it is applying, and takes no other', async () => {
    const reached = gate();
    const go = gate();
    let first = true;

    @Workflow()
    class Slow extends WorkflowOf {
      @Step({ waitFor: 'go', waitTimeout: 'deadline', onTimeout: 'notify' })
      async gate() {}

      async deadline(_ctx: StepContext) {
        if (!first) {
          reached.open();
          await go.opened;
        }
        first = false;
        return '1 hour' as const;
      }
    }
    const { workflows, close } = await suite.boot([Slow]);
    const run = await workflows.start(Slow);
    await until(run, 'waiting');
    await passDeadline(sql, run);
    await reached.opened;
    const closed = close();
    go.open();
    await closed;
    expect(await timeOuts(sql, run)).toHaveLength(1);
  });
});
