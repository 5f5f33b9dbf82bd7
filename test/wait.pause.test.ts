import { type WorkflowHandle } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { untilWaitingForLocks } from './support/locks';
import { newestRow } from './support/rows';
import { gate, workflowSuite } from './support/suite';
import { passDeadline, seenBy, timeOuts, waiting } from './support/waits';

const DAY = 86_400_000;
const moment = new Date(Date.now() + 3 * DAY);
let asked = 0;

const Static = waiting({ waitTimeout: '1 hour' });
const Lasting = waiting({
  waitTimeout() {
    asked += 1;
    return '1 hour';
  },
});
const Dated = waiting({
  waitTimeout() {
    asked += 1;
    return moment;
  },
});
const Notified = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });
const NotifiedByDate = waiting({
  waitTimeout() {
    asked += 1;
    return moment;
  },
  onTimeout: 'notify',
});
const Open = waiting({ waitTimeout: () => void (asked += 1) });

describe("a pause stops a wait's clock", () => {
  const suite = workflowSuite();
  const { sql, until } = suite;

  /** Deadline and pause, to the microsecond, as text that PostgreSQL reads. */
  const times = async ({ id }: WorkflowHandle) => {
    const [row] = await sql<{ timeout_at: string | null; stopped_timeout_at: string | null }>(
      `select timeout_at::text, stopped_timeout_at::text from workflow_steps where workflow_id = $1 order by id desc limit 1`,
      [id],
    );
    return row;
  };
  /** Puts a pause that is under way so much further back. */
  const lengthen = ({ id }: WorkflowHandle, by: string) =>
    sql(
      `with event as (
         update workflow_events e set created_at = e.created_at - $2::interval
         where e.id = (select max(id) from workflow_events where workflow_id = $1 and name = 'paused')
       ) update workflows set paused_at = paused_at - $2::interval where id = $1`,
      [id, by],
    );
  /** Whether the deadline is `was`, later by what lies between the run's `paused` and `resumed` events, all of them together. */
  const isLaterByThePauses = async ({ id }: WorkflowHandle, was: string) => {
    const [row] = await sql(
      `select s.timeout_at = $2::timestamptz + p.length as exact, p.length > interval '1 hour' as long
       from workflow_steps s, (
         select sum(e.created_at - b.created_at) as length from workflow_events e
         cross join lateral (select b.created_at from workflow_events b
           where b.workflow_id = e.workflow_id and b.name = 'paused' and b.id < e.id order by b.id desc limit 1) b
         where e.workflow_id = $1 and e.name = 'resumed') p
       where s.workflow_id = $1 and s.status = 'waiting'`,
      [id, was],
    );
    return row;
  };

  test.each([
    ['a static duration', Static],
    ["a callable's duration", Lasting],
    ["a callable's Date", Dated],
    ['notify', Notified],
    ['notify with a Date', NotifiedByDate],
  ])("WAIT-09 OPS-06 %s moves on by exactly the pauses' lengths, and nobody is asked again", async (_, Class) => {
    const { workflows } = await suite.boot([Class]);
    asked = 0;
    const run = await workflows.start(Class);
    await until(run, 'waiting');
    const before = asked;
    const { timeout_at: was } = await times(run);
    const { id } = await newestRow(sql, run);
    for (const length of ['90 minutes', '3 days 17 milliseconds', '0.001 milliseconds']) {
      await run.pause();
      expect((await times(run)).timeout_at).toBeNull();
      await lengthen(run, length);
      expect((await run.resume()).status).toBe('waiting');
    }
    expect(await isLaterByThePauses(run, was!)).toEqual({ exact: true, long: true });
    expect(await newestRow(sql, run)).toMatchObject({ id, attempt: 1, status: 'waiting', stopped_timeout_at: null });
    expect(asked).toBe(before);
    expect(await timeOuts(sql, run)).toEqual([]);
    await run.signal('go');
    await until(run, 'finished');
    expect(seenBy(run)).toEqual([expect.objectContaining({ attempt: 1, timedOut: false, woken: true })]);
  });

  test('WAIT-09 a null stays null', async () => {
    const { workflows } = await suite.boot([Open]);
    asked = 0;
    const run = await workflows.start(Open);
    await until(run, 'waiting');
    await run.pause();
    await lengthen(run, '1 day');
    await run.resume();
    expect(await times(run)).toEqual({ timeout_at: null, stopped_timeout_at: null });
    expect(asked).toBe(1);
  });

  test('WAIT-08 WAIT-09 what had passed when the pause came fires after resume, and not before', async () => {
    // No look between the passing and the pause: this worker polls once an hour.
    const parks = await suite.boot([Static], { worker: { pollInterval: '1h' } });
    const run = await parks.workflows.start(Static);
    await until(run, 'waiting');
    await passDeadline(sql, run, '3 hours');
    const { timeout_at: was } = await times(run);
    await run.pause();
    const { workflows } = await suite.boot([Static]);
    const other = await workflows.start(Static);
    await until(other, 'waiting');
    await passDeadline(sql, other);
    await until(other, 'paused');
    expect(await attempts(run)).toEqual(['gate#1 waiting']);
    await lengthen(run, '2 hours');
    await run.resume();
    await until(run, 'paused');
    const [fired] = await timeOuts(sql, run);
    const [row] = await sql(
      `select $1::timestamptz - $2::timestamptz > interval '2 hours' as moved, $1::timestamptz < statement_timestamp() as passed`,
      [fired.timeout_at, was],
    );
    expect(row).toEqual({ moved: true, passed: true });
  });

  test('WAIT-09 WAIT-20 notices go on from the moved deadline, a period apart', async () => {
    const { workflows } = await suite.boot([Notified]);
    const run = await workflows.start(Notified);
    await until(run, 'waiting');
    await run.pause();
    await lengthen(run, '5 hours');
    await run.resume();
    const at = await passDeadline(sql, run, '10 minutes');
    await suite.eventually(async () => (await timeOuts(sql, run)).length === 1, 'the notice is given');
    const [row] = await sql(
      `select date_trunc('milliseconds', timeout_at) = $2::timestamptz + interval '1 hour' as one_period from workflow_steps where workflow_id = $1`,
      [run.id, at],
    );
    expect(row).toEqual({ one_period: true });
    await run.pause();
    await run.resume();
    expect(await timeOuts(sql, run)).toHaveLength(1);
  });

  test('WAIT-09 SIG-19 a signal during the pause: no deadline is left, and none comes back with resume', async () => {
    const { workflows } = await suite.boot([Static]);
    const run = await workflows.start(Static);
    await until(run, 'waiting');
    await run.pause();
    await run.signal('go');
    expect(await newestRow(sql, run)).toMatchObject({
      status: 'scheduled',
      timeout_at: null,
      stopped_timeout_at: null,
      timed_out: false,
    });
    await lengthen(run, '2 days');
    await run.resume();
    await until(run, 'finished');
    expect(await timeOuts(sql, run)).toEqual([]);
  });

  test('WAIT-08 WAIT-09 a pause that meets the run in the gate: parked first, then its clock stops', async () => {
    const reached = gate();
    const go = gate();
    const InGate = waiting({
      async waitTimeout() {
        reached.open();
        await go.opened;
        return moment;
      },
    });
    const { workflows } = await suite.boot([InGate]);
    const run = await workflows.start(InGate);
    await reached.opened;
    const pausing = run.pause();
    await untilWaitingForLocks(suite, 1);
    go.open();
    await pausing;
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled', 'step_waiting', 'paused']);
    expect(await newestRow(sql, run)).toMatchObject({
      status: 'waiting',
      timeout_at: null,
      stopped_timeout_at: moment,
    });
  });
});
