import {
  FanOut,
  Step,
  Workflow,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { InvalidQueryError } from '../libs/workflow/src/insights/query-error';
import type { RunFilter } from '../libs/workflow/src/insights/run-filter';
import { Task } from './support/fan';
import { readsOf } from './support/reads';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { oneDeadline, passDeadline, waiting } from './support/waits';

class Declined extends Error {}

const OneNotice = waiting({ waitTimeout: oneDeadline(), onTimeout: 'notify' });
const Waits = waiting({ waitTimeout: '2 days', onTimeout: 'skip' });
const Open = waiting();

@Workflow()
class Later extends WorkflowOf {
  @Step({ wait: '3 hours' })
  async late() {}
}

@Workflow()
class Crowd extends WorkflowOf<null, { script: string }> {
  @FanOut({ jobOptions: { queue: 'here' } })
  async fan(_: Ctx<this>, batch: FanOutBatch) {
    for (let n = 0; n < 3; n += 1) batch.add(Task, { script: 'none', n }, { queue: 'nobody' });
  }
}

/** Without its moments, which move. */
const plain = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d /g, '')
    .replaceAll(/\d\d:\d\d UTC \((in )?[^)]*?( ago)?\)/g, '<$1moment$2>')
    .replaceAll(/\d\d:\d\d UTC/g, '<moment>');

describe('the list of runs', () => {
  let filled = false;
  // Rows that were written by hand have no trail, which the suite, after this, would miss.
  afterEach(async () => {
    if (filled) await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
    filled = false;
  });
  const suite = workflowSuite();
  const { sql, until } = suite;

  test('DASH-01 DASH-02 newest first, ongoing by default, one status, or all; each in words', async () => {
    const app = await suite.boot([Scripted, Waits, Open, Later, Crowd, Task], {
      worker: { queues: ['default', 'here'] },
    });
    const { workflows } = app;
    const { runs: reads } = readsOf(app);
    const atWork = held();
    const started: [WorkflowHandle, Parameters<typeof until>[1]][] = [
      [await workflows.start(Scripted, script({})), 'finished'],
      [await workflows.start(Scripted, script({ two: (ctx) => ctx.cancel() })), 'cancelled'],
      [await workflows.start(Scripted, script({ one: () => Promise.reject(new Declined('no')) })), 'paused'],
      [await workflows.start(Scripted, script({ two: (ctx) => ctx.pause() })), 'paused'],
      [await workflows.start(Waits), 'waiting'],
      [await workflows.start(Open), 'waiting'],
      [await workflows.start(Crowd, { args: { script: '' } }), 'waiting'],
      [await workflows.start(Later), 'ready'],
      [await workflows.start(Scripted, script({ one: atWork.body })), 'performing'],
    ];
    for (const [run, status] of started) await until(run, status);
    await suite.eventually(
      async () => (await sql(`select from workflow_steps where member_index >= 0`)).length === 3,
      'the batch is open',
    );

    const newestFirst = started.map(([{ id }]) => id).toReversed();
    const all = await reads.list({ state: 'all' });
    expect(all.runs.map(({ id }) => id)).toEqual(newestFirst);
    expect(all.next_cursor).toBeNull();
    const ongoing = all.runs.filter(({ ended_at }) => ended_at === null);
    expect(ongoing).toHaveLength(7);
    expect((await reads.list({})).runs.map(({ id }) => id)).toEqual(ongoing.map(({ id }) => id));
    for (const status of ['ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled'] as const) {
      const { runs } = await reads.list({ state: status });
      expect(runs.map(({ id }) => id)).toEqual(all.runs.filter((run) => run.status === status).map(({ id }) => id));
    }

    const said = all.runs.toReversed().map(({ now, next }) => [plain(now), next]);
    const host = `${(await sql(`select worker from workflow_steps where status = 'in_progress'`))[0].worker}`;
    expect(said).toEqual([
      [expect.stringMatching(/^Finished at <moment ago>, .* after its start, with step "three"$/), null],
      [expect.stringMatching(/^Cancelled by system at <moment ago>, .* after its start, at step "two"$/), null],
      [
        'Paused since <moment ago> at step "one", attempt 1: Declined. You can resume (try step "one" again), resume at another step, or cancel.',
        null,
      ],
      [
        'Paused since <moment ago> after step "two", attempt 1. You can resume (go on with step "three"), resume at another step, or cancel.',
        null,
      ],
      [
        'Waiting for signal "go" at step "gate" since <moment ago>, until <in moment>',
        'With the signal step "gate" runs, then step "after". At the deadline the step is skipped.',
      ],
      [
        'Waiting for signal "go" at step "gate" since <moment ago>, without a deadline',
        'With the signal step "gate" runs, then step "after".',
      ],
      [
        `Waiting for batch "Crowd#fan ${started[6][0].id}" since <moment ago>: 0 of 3 done`,
        'Then the run is finished.',
      ],
      ['Scheduled: step "late", attempt 1, at <in moment>', 'Then the run is finished.'],
      [`Performing step "one", attempt 1, since <moment ago> on ${host}`, 'Then step "two".'],
    ]);
    const [failed] = (await reads.list({ error_class: 'Declined' })).runs;
    expect(failed).toMatchObject({
      id: started[2][0].id,
      class: 'Scripted',
      subject: null,
      step: 'one',
      attempt: 1,
      error_class: 'Declined',
      stuck_reason: 'paused_error',
      available_actions: ['resume', 'resume_at', 'cancel', 'signal'],
    });
    await sql(`update workflow_steps set status = 'completed', finished_at = now() where member_index = 1`);
    expect((await reads.list({ class: 'Crowd' })).runs[0].now).toContain('1 of 3 done');
    atWork.release();
    await until(started[8][0], 'finished');
  });

  test('DASH-03 a notify wait whose deadline was cleared: how long it is late, and that it is not announced again', async () => {
    const app = await suite.boot([OneNotice]);
    const { runs: reads } = readsOf(app);
    const run = await app.workflows.start(OneNotice);
    await until(run, 'waiting');
    const [before] = (await reads.list({ id: run.id })).runs;
    expect(before.now).toMatch(/, until .* \(in 59m/);
    await passDeadline(sql, run, '2 hours 5 minutes');
    await suite.eventually(
      async () => (await suite.trail(run)).includes('wait_timed_out'),
      'the deadline was announced',
    );
    const [late] = (await reads.list({ id: run.id })).runs;
    expect(late.now).toMatch(/; late by 2h 5m, since [^:]*\d\d:\d\d UTC: that was announced, and will not be again$/);
    expect(late.stuck_reason).toBeNull();
  });

  test('DASH-04 INS-14 all filters combine, and stay through paging: no run twice, none missed, whatever is started meanwhile', async () => {
    const { runs: reads } = readsOf(await suite.boot([Scripted], { worker: false }));
    const rows = await fill(300);
    const random = seeded(7);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)];
    let found = 0;
    for (let round = 0; round < 100; round += 1) {
      const filter: Record<string, unknown> = { state: pick(['all', 'all', 'ongoing', pick(rows).status]) };
      const like = pick(rows);
      const given = (key: string, value: unknown) => random() < 0.25 && value !== null && (filter[key] = value);
      given('class', like.workflow_class);
      given('step', like.current_step);
      given('error_class', like.error_class);
      given('subject_type', 'Order');
      given('subject_id', like.subject_id);
      given('created_from', like.created_at);
      given('created_to', new Date(like.created_at.getTime() + 40_000));
      given('ended_from', like.ended_at);
      given('ended_to', like.ended_at && new Date(like.ended_at.getTime() + 40_000).toISOString());
      given('stuck_reason', like.reason);
      const expected = rows.filter((row) => fits(row, filter)).map(({ id }) => id);
      const listed = await pages(filter, pick([5, 50, 200]));
      expect([filter, listed]).toEqual([filter, expected]);
      found += expected.length;
    }
    expect(found).toBeGreaterThan(500);

    /** All pages; before each of the first, a run is started that fits most filters and is newer than all: it belongs before the first. */
    async function pages(filter: RunFilter, limit: number): Promise<string[]> {
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await reads.list(filter, { limit, ...(cursor && { cursor }) });
        expect(page.runs.length).toBeLessThanOrEqual(limit);
        ids.push(...page.runs.map(({ id }) => id));
        cursor = page.next_cursor ?? undefined;
        if (ids.length < 10) await insertNewer();
      } while (cursor);
      await sql(`delete from workflows where created_at > now()`);
      return ids;
    }
  });

  test('DASH-20 what cannot be right is refused, by the name of the field', async () => {
    const { runs: reads } = readsOf(await suite.boot([Scripted], { worker: false }));
    const field = async (filter: object, page: object = {}) => {
      const error = await reads.list(filter, page).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidQueryError);
      return (error as InvalidQueryError).field;
    };
    expect(await field({ state: 'asleep' })).toBe('state');
    expect(await field({ stuck_reason: "' or true --" })).toBe('stuck_reason');
    expect(await field({ class: 'a\0b' })).toBe('class');
    expect(await field({ subject_id: { $gt: '' } })).toBe('subject_id');
    expect(await field({ id: '42' })).toBe('id');
    expect(await field({ created_from: '2026-01-31T14:02' })).toBe('created_from');
    expect(await field({ ended_to: '+275760-09-13T00:00:00Z' })).toBe('ended_to');
    expect(await field({ color: 'red' })).toBe('color');
    for (const limit of [0, 201, 1.5, NaN, '7']) expect(await field({}, { limit })).toBe('limit');

    await fill(3);
    const { next_cursor: cursor } = await reads.list({ state: 'all' }, { limit: 1 });
    const decoded = Buffer.from(cursor!, 'base64url').toString();
    const events = Buffer.from('events 1').toString('base64url');
    const edited = Buffer.from(decoded.replace(/\d+/, '9'.repeat(30))).toString('base64url');
    for (const bad of ['', 'x', `${cursor}=`, ` ${cursor}`, events, edited, cursor!.slice(0, -3), 'A'.repeat(5_000)]) {
      expect(await field({}, { cursor: bad })).toBe('cursor');
    }
    expect((await reads.list({ class: `'; drop table workflows; --`, step: '<b>' })).runs).toEqual([]);
  });

  interface FilledRow {
    readonly id: string;
    readonly workflow_class: string;
    readonly subject_id: string | null;
    readonly status: string;
    readonly current_step: string;
    readonly created_at: Date;
    readonly ended_at: Date | null;
    readonly error_class: string | null;
    readonly reason: string | null;
  }

  /** Runs of every kind, several of one moment, newest first, in a table that held none. */
  async function fill(count: number): Promise<FilledRow[]> {
    await sql('truncate workflows cascade');
    filled = true;
    return sql<FilledRow>(
      `with made as (
         select gen_random_uuid() as id, n, 'Class' || n % 3 as class, 'step' || n % 4 as step,
                (array['ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled'])[1 + n / 3 % 6] as status,
                date_trunc('second', now() - interval '1 day') - n / 3 * interval '10 seconds' as at, n % 5 = 0 as failed
         from generate_series(1, $1::int) n
       ), runs as (
         insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step, definition_digest,
                                created_at, paused_at, ended_at)
         select id, class, case when n % 2 = 0 then 'Order' end, case when n % 2 = 0 then n::text end, '{}', status, step, '', at,
                case when status = 'paused' then at end,
                case when status in ('finished', 'cancelled') then at + (n % 7 + 1) * interval '10 seconds' end
         from made returning *
       ), steps as (
         insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, available_at, started_at,
                                     finished_at, worker_id, wait_for, waiting_since, timeout_at, error_class)
         select id, class, step, attempt, row_status, 'q' || n % 2, at, case when row_status = 'scheduled' then due end, at,
                case when row_status in ('failed', 'completed') then at end, id,
                case when row_status = 'waiting' then 'go' end, case when row_status = 'waiting' then at - interval '8 days' end,
                case when row_status = 'waiting' and n % 3 = 0 then now() + interval '1 day' end,
                case when row_status = 'failed' then (array['Declined', 'StepStalledError'])[1 + n % 2] end
         from made, unnest(array[1, 2]) attempt, lateral (
           select case when attempt = 1 then 'failed' when status = 'ready' then 'scheduled' when status = 'performing' then 'in_progress'
                       when status = 'waiting' then 'waiting' when failed then 'failed' else 'completed' end as row_status,
                  case when n % 2 = 0 then at else now() + interval '1 hour' end as due) as made_of
       )
       select id::text, class as workflow_class, case when n % 2 = 0 then n::text end as subject_id, status, step as current_step,
              at as created_at, case when status in ('finished', 'cancelled') then at + (n % 7 + 1) * interval '10 seconds' end as ended_at,
              case when failed and status in ('paused', 'finished', 'cancelled') then (array['Declined', 'StepStalledError'])[1 + n % 2]
                end as error_class,
              case when status = 'paused' and not failed then 'paused_manual'
                   when status = 'paused' then (array['paused_error', 'stalled'])[1 + n % 2]
                   when status = 'ready' and n % 2 = 0 then 'overdue'
                   when status = 'waiting' and n % 3 <> 0 then 'waiting_overdue' end as reason
       from made order by at desc, id desc`,
      [count],
    );
  }

  function insertNewer(): Promise<unknown> {
    return sql(
      `with run as (
         insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, created_at)
         values (gen_random_uuid(), 'Class0', '{}', 'waiting', 'step0', '', now() + interval '1 hour') returning id
       )
       insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, waiting_since, wait_for)
       select id, 'Class0', 'step0', 1, 'waiting', 'q', now(), now() - interval '9 days', 'go' from run`,
    );
  }

  /** The filter's meaning, said again. */
  function fits(row: FilledRow, filter: Record<string, any>): boolean {
    const time = (value: string | Date) => new Date(value).getTime();
    const ends = row.ended_at === null ? NaN : row.ended_at.getTime();
    return [
      filter.state === 'all' || (filter.state === 'ongoing' ? row.ended_at === null : filter.state === row.status),
      !filter.class || filter.class === row.workflow_class,
      !filter.step || filter.step === row.current_step,
      !filter.error_class || filter.error_class === row.error_class,
      !filter.subject_type || row.subject_id !== null,
      !filter.subject_id || filter.subject_id === row.subject_id,
      !filter.created_from || row.created_at.getTime() >= time(filter.created_from),
      !filter.created_to || row.created_at.getTime() < time(filter.created_to),
      !filter.ended_from || ends >= time(filter.ended_from),
      !filter.ended_to || ends < time(filter.ended_to),
      !filter.stuck_reason || filter.stuck_reason === row.reason,
    ].every(Boolean);
  }
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
