import { Step, Workflow, WorkflowDefinitionError, WorkflowOf, type WorkflowHandle } from 'nestjs-pg-workflows';
import { STUCK_REASONS } from '../libs/workflow/src/insights/stuck';
import { AttentionReads } from '../libs/workflow/src/insights/attention';
import { GroupActions } from '../libs/workflow/src/service/group-actions';
import { ENGINE_PARTS, type EngineParts } from '../libs/workflow/src/engine/engine.parts';
import { leaveAllInProgress } from './support/sweep';
import { fanning, fanScript, Task } from './support/fan';
import { readsOf } from './support/reads';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { passDeadline, waiting } from './support/waits';

class Declined extends Error {}

const Bounded = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });
const Open = waiting();
const Pauses = waiting({ waitTimeout: '1 hour' });
const Fans = fanning('StuckFans');

@Workflow()
class Later extends WorkflowOf {
  @Step({ wait: '3 hours' })
  async late() {}
}

const decline = (message: string) => script({ one: () => Promise.reject(new Declined(message)) });

describe('runs that need a person', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;

  beforeEach(() => sql('truncate workflows, workflow_steps, workflow_events, workflow_signals'));

  const shift = (run: WorkflowHandle, column: string) =>
    sql(
      `update workflow_steps set ${column} = ${column} - interval '9 days' where workflow_id = $1 and member_index = -1`,
      [run.id],
    );

  test('MET-08 MET-09 MET-10 MET-11 MET-12 MET-13 DASH-16 DASH-19 each reason in its case only; summary, groups and filter count the same runs', async () => {
    const app = await suite.boot([Scripted, Bounded, Open, Pauses, Fans, Later, Task]);
    const { workflows } = app;
    const atWork = held();
    const start = {
      failed: await workflows.start(Scripted, decline('first')),
      failedAgain: await workflows.start(Scripted, decline('second')),
      timedOut: await workflows.start(Pauses),
      batchFailed: await workflows.start(Fans, fanScript({ size: 1, task: () => Promise.reject(new Error('no')) })),
      byBody: await workflows.start(Scripted, script({ two: (ctx) => ctx.pause() })),
      fromOutside: await workflows.start(Later),
      pausedThenFailed: await workflows.start(
        Scripted,
        script({
          one: async (ctx) => {
            await atWork.body(ctx);
            throw new Declined('late');
          },
        }),
      ),
      skippedUnderPause: await workflows.start(Open),
      overdue: await workflows.start(Later),
      future: await workflows.start(Later),
      openWait: await workflows.start(Open),
      freshWait: await workflows.start(Open),
      boundedWait: await workflows.start(Bounded),
      done: await workflows.start(Scripted, script({})),
    };
    for (const run of [start.timedOut, start.openWait, start.freshWait, start.boundedWait, start.skippedUnderPause]) {
      await until(run, 'waiting');
    }
    await passDeadline(sql, start.timedOut);
    for (const run of [start.failed, start.failedAgain, start.timedOut, start.batchFailed, start.byBody]) {
      await until(run, 'paused');
    }
    await until(start.done, 'finished');
    await start.fromOutside.pause();
    await start.skippedUnderPause.pause();
    await atWork.reached;
    await start.pausedThenFailed.pause();
    atWork.release();
    await suite.eventually(
      async () => (await start.pausedThenFailed.steps())[0].status === 'failed',
      'the paused run has failed',
    );
    await app.close();

    // Nobody takes what is due from here on; one run looks as a stall leaves it.
    const admin = await suite.boot([Scripted, Bounded, Open, Pauses, Fans, Later, Task], { worker: false });
    const stalled = await admin.workflows.start(Scripted, script({}));
    await leaveAllInProgress(sql, [stalled.id]);
    await sql(
      `with row as (update workflow_steps set status = 'failed', outcome = 'paused', finished_at = now(), error_class = 'StepStalledError',
                                              error_message = 'lost' where workflow_id = $1 returning id)
       insert into workflow_events (workflow_id, step_id, name, actor)
       select $1, id, name, 'system' from row, unnest(array['stall_detected', 'step_failed', 'paused']) with ordinality as e(name, n) order by n`,
      [stalled.id],
    );
    await sql(`update workflows set status = 'paused', paused_at = now() where id = $1`, [stalled.id]);
    await shift(start.overdue, 'available_at');
    await shift(start.openWait, 'waiting_since');
    await shift(start.boundedWait, 'waiting_since');
    const waitingBatch = await admin.workflows.start(Later);
    await sql(
      `update workflow_steps set status = 'waiting', available_at = null, batch_size = 1, waiting_since = now() - interval '8 days'
       where workflow_id = $1`,
      [waitingBatch.id],
    );
    await sql(`update workflows set status = 'waiting' where id = $1`, [waitingBatch.id]);
    // Its member is due for as long, and no run of its own.
    await sql(
      `insert into workflow_steps (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, scheduled_at,
                                   available_at, job_name)
       select workflow_id, 'Task', step_name, 1, 0, id, 'scheduled', 'nobody', waiting_since, waiting_since, 'Task'
       from workflow_steps where workflow_id = $1`,
      [waitingBatch.id],
    );
    await sql(
      `insert into workflow_events (workflow_id, name, actor) values ($1, 'step_started', 'system'), ($1, 'step_waiting', 'system')`,
      [waitingBatch.id],
    );

    const expected: Record<string, WorkflowHandle[]> = {
      paused_error: [start.failed, start.failedAgain, start.timedOut, start.batchFailed, start.pausedThenFailed],
      stalled: [stalled],
      paused_manual: [start.byBody, start.fromOutside, start.skippedUnderPause],
      overdue: [start.overdue],
      waiting_overdue: [start.openWait, waitingBatch],
    };
    const { runs: reads, attention, summary } = readsOf(admin);
    const shown = await summary();
    const view = await attention.groups();
    for (const reason of STUCK_REASONS) {
      const ids = expected[reason].map(({ id }) => id).toSorted();
      const { runs } = await reads.list({ stuck_reason: reason });
      expect([reason, runs.map(({ id }) => id).toSorted()]).toEqual([reason, ids]);
      expect(runs.map((run) => run.stuck_reason)).toEqual(ids.map(() => reason));
      expect(shown.by_reason[reason]).toBe(ids.length);
      const inGroups = view.groups.filter((group) => group.reason === reason);
      expect(inGroups.reduce((total, { runs: count }) => total + count, 0)).toBe(ids.length);
      for (const group of inGroups) expect((await attention.idsOf(group, 500)).total).toBe(group.runs);
    }
    const { runs: all } = await reads.list({ state: 'all' });
    expect(all.filter(({ stuck_reason: reason }) => reason !== null)).toHaveLength(12);
    expect(shown).toMatchObject({
      stuck: 12,
      ongoing: 15,
      by_status: { ready: 2, performing: 0, waiting: 4, paused: 9 },
    });
    expect(view).toMatchObject({ groups_total: view.groups.length, runs_total: 12 });

    expect(view.groups[0]).toMatchObject({
      class: 'Scripted',
      step: 'one',
      reason: 'paused_error',
      error_class: 'Declined',
      runs: 3,
      error_message: 'late',
      actions: ['resume', 'cancel'],
    });
    const [first] = await sql(`select paused_at as at from workflows where id = $1`, [start.failed.id]);
    const [last] = await sql(`select paused_at as at from workflows where id = $1`, [start.pausedThenFailed.id]);
    expect(new Date(view.groups[0].first_seen_at) <= first.at).toBe(true);
    expect(view.groups[0].last_seen_at).toBe(last.at.toISOString());
    expect(view.groups.find(({ reason }) => reason === 'overdue')!.actions).toEqual(['cancel']);
    const one = await attention.groups({ class: 'Later' });
    expect(one.groups.map(({ reason }) => reason).toSorted()).toEqual(['overdue', 'paused_manual', 'waiting_overdue']);
    expect((await attention.groups({ class: 'Nobody' })).groups).toEqual([]);
  });

  test('DASH-17 the 200 largest groups, and how many there are', async () => {
    const { attention } = readsOf(await suite.boot([Scripted], { worker: false }));
    await sql(
      `with runs as (
         insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, paused_at)
         select gen_random_uuid(), 'Many', '{}', 'paused', 'step' || g, '', now() from generate_series(1, 230) g, generate_series(1, 1 + g % 3)
         returning id, current_step
       )
       insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, finished_at, error_class, error_message)
       select id, 'Many', current_step, 1, 'failed', 'q', now(), now(), 'Declined', current_step from runs`,
    );
    const view = await attention.groups();
    expect(view.groups).toHaveLength(200);
    expect(view.groups_total).toBe(230);
    expect(view.runs_total).toBe(230 + 77 + 2 * 77);
    const sizes = view.groups.map(({ runs }) => runs);
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
    for (const { step, error_message } of view.groups.filter((group) => group.class === 'Many')) {
      expect(error_message).toBe(step);
    }
    await sql(`delete from workflows where workflow_class = 'Many'`);
  });

  test('MET-11 OPS-07 a run whose time came while it was paused is due from its resume on, and not overdue', async () => {
    const app = await suite.boot([Scripted], { worker: false });
    const { runs: reads, summary } = readsOf(app);
    const run = await app.workflows.start(Scripted, script({}));
    await run.pause();
    await sql(
      `update workflow_steps set scheduled_at = scheduled_at - interval '3 hours', created_at = created_at - interval '3 hours' where workflow_id = $1`,
      [run.id],
    );
    await run.resume();
    expect((await summary()).by_reason).toMatchObject({ overdue: 0 });
    const { now, stuck_reason, attempts } = await reads.run(run.id);
    expect([now, stuck_reason]).toEqual([
      expect.stringMatching(/^Scheduled: step "one", attempt 1, is due since/),
      null,
    ]);
    expect(attempts[0].queued_ms).toBeLessThan(3_600_000);
    const [row] = await sql('select available_at = scheduled_at as same from workflow_steps where workflow_id = $1', [
      run.id,
    ]);
    expect(row.same).toBe(true);
  });

  test('DASH-18 AMB-30 a group is resumed or cancelled, run by run; one that moved on is left alone and counted', async () => {
    const app = await suite.boot([Scripted]);
    const runs: WorkflowHandle[] = [];
    for (let n = 0; n < 6; n += 1) {
      const tried = { one: (ctx: { attempt: number }) => void (ctx.attempt === 1 && fail()) };
      runs.push(
        await app.workflows.start(Scripted, script({ ...tried, two: () => Promise.reject(new Declined('two')) })),
      );
    }
    for (const run of runs) await until(run, 'paused');
    const parts = app.app.get<EngineParts>(ENGINE_PARTS);
    const attention = new AttentionReads(parts);
    const group = (await attention.groups({ class: 'Scripted' })).groups.find(({ step }) => step === 'one')!;
    expect(group).toMatchObject({ runs: 6, error_class: 'Declined' });

    // What happens between the look and the press: one is cancelled, one resumed and paused again, on another step.
    const actions = new GroupActions(parts, {
      isIn: (connection, id, of) => attention.isIn(connection, id, of),
      idsOf: async (of, limit) => {
        const found = await attention.idsOf(of, limit);
        await runs[0].cancel();
        await runs[1].resume();
        await suite.eventually(
          async () => (await runs[1].reload()).status === 'paused' && runs[1].currentStep === 'two',
          'the run is paused on its next step',
        );
        return found;
      },
    });
    const result = await actions.resume(group, { actor: 'dashboard:alice', reason: 'fixed' });
    expect(result).toEqual({
      ok: true,
      done: 4,
      moved_on: 2,
      refused: 0,
      left: 0,
      reason: 'Resumed 4; 2 had already moved on.',
    });
    for (const run of runs.slice(2)) {
      await suite.eventually(async () => (await run.reload()).currentStep === 'two', 'the run went on');
      const resumed = (await run.events()).filter(({ name }) => name === 'resumed');
      expect(resumed.map(({ actor, reason }) => [actor, reason])).toEqual([['dashboard:alice', 'fixed']]);
      await until(run, 'paused');
    }
    expect((await runs[1].events()).filter(({ actor }) => actor === 'dashboard:alice')).toEqual([]);

    const { actions: pressed } = readsOf(app);
    expect(await pressed.resume(group)).toMatchObject({
      ok: false,
      reason: 'Resumed 0; no run is in this group any more.',
    });
    const second = (await attention.groups({ class: 'Scripted' })).groups.find(({ step }) => step === 'two')!;
    expect(second.runs).toBe(5);
    const cancelled = await pressed.cancel(second, { actor: 'dashboard:bob' });
    expect(cancelled).toMatchObject({ ok: true, done: 5, reason: 'Cancelled 5.' });
    const trails = await sql(`select actor from workflow_events where name = 'cancelled' and workflow_id = any($1)`, [
      runs.slice(1).map(({ id }) => id),
    ]);
    expect(trails.map(({ actor }) => actor)).toEqual(Array(5).fill('dashboard:bob'));
    expect((await attention.groups({ class: 'Scripted' })).groups).toEqual([]);

    function fail(): never {
      throw new Declined('one');
    }
  });

  test('DASH-18 AMB-30 at most 500 a press; what cannot be resumed is counted, what somebody holds is left', async () => {
    const app = await suite.boot([Later], { worker: false });
    const { attention, actions } = readsOf(app);
    const runs = await app.workflows.startMany(
      Later,
      Array.from({ length: 503 }, () => ({})),
    );
    await sql(
      `update workflow_steps set scheduled_at = now() - interval '2 hours', available_at = now() - interval '2 hours'`,
    );
    const [overdue] = (await attention.groups({ class: 'Later' })).groups;
    expect(overdue).toMatchObject({ reason: 'overdue', runs: 503 });
    expect(await actions.resume(overdue)).toEqual({
      ok: false,
      done: 0,
      moved_on: 0,
      refused: 500,
      left: 3,
      reason: 'Resumed 0; 500 could not be resumed; 3 are left: press again.',
    });
    expect(await sql(`select from workflows where workflow_class = 'Later' and status <> 'ready'`)).toEqual([]);

    const longest = (await attention.idsOf(overdue, 1)).ids[0];
    const holds = await app.workflows.find(longest);
    await app.dataSource.transaction(async (manager) => {
      await holds.runNow({ manager });
      expect(await actions.cancel(overdue)).toMatchObject({ done: 499, left: 4, moved_on: 0 });
    });
    expect(await actions.cancel(overdue)).toMatchObject({ ok: true, done: 3, left: 0, reason: 'Cancelled 3.' });
    expect(runs).toHaveLength(503);
    await holds.cancel();

    const stranger = readsOf(await suite.boot([Scripted], { worker: false }));
    const [run] = await app.workflows.startMany(Later, [{}]);
    await run.pause();
    const [paused] = (await stranger.attention.groups()).groups;
    await expect(stranger.actions.resume(paused)).rejects.toThrow(WorkflowDefinitionError);
    expect((await run.reload()).status).toBe('paused');
    await expect(stranger.actions.cancel({ ...paused, reason: 'x' as never })).rejects.toThrow(
      '"reason" has to be one of',
    );
    expect(await stranger.actions.cancel(paused)).toMatchObject({ done: 1 });
  });

  test('DASH-19 the summary: depths of queues with the oldest due step, and workers with what they have in hand', async () => {
    const app = await suite.boot([Scripted, Later, Fans, Task], { worker: { queues: ['default', 'other'] } });
    const { summary } = readsOf(app);
    const atWork = held();
    const run = await app.workflows.start(Scripted, script({ one: atWork.body }));
    await atWork.reached;
    const { id } = app.app.get<EngineParts>(ENGINE_PARTS).worker;
    await suite.eventually(
      async () => (await summary()).workers[0]?.started_at != null,
      'the lease connection is there',
    );
    const busy = await summary();
    expect(busy.workers).toEqual([
      {
        id: id.slice(0, 8),
        name: expect.stringMatching(new RegExp(`:${process.pid}$`)),
        started_at: expect.any(String),
        in_progress: 1,
        runs: [{ workflow_id: run.id, class: 'Scripted', step: 'one', attempt: 1, started_at: expect.any(String) }],
      },
    ]);
    atWork.release();
    await until(run, 'finished');
    await suite.eventually(async () => (await summary()).workers[0]?.in_progress === 0, 'the worker is idle');
    await app.close();

    const admin = await suite.boot([Scripted, Later, Fans, Task], { worker: false });
    const made = await admin.workflows.startMany(
      Scripted,
      Array.from({ length: 5 }, () => script({})),
    );
    const queued = (n: number, queue: string, ago: string) =>
      sql(
        `update workflow_steps set queue = $2, scheduled_at = now() - $3::interval, available_at = now() - $3::interval where workflow_id = $1`,
        [made[n].id, queue, ago],
      );
    await queued(0, 'default', '90 seconds');
    await queued(1, 'default', '10 seconds');
    await queued(2, 'mail', '1 hour');
    await queued(3, 'mail', '-1 hour');
    await queued(4, 'later', '-1 hour');
    const view = await readsOf(admin).summary();
    expect(view.queues).toEqual([
      { queue: 'default', depth: 2, oldest_due_seconds: expect.closeTo(90, -2) },
      { queue: 'later', depth: 0, oldest_due_seconds: 0 },
      { queue: 'mail', depth: 1, oldest_due_seconds: expect.closeTo(3_600, -3) },
    ]);
    expect(view.oldest_due_step_seconds).toBe(view.queues[2].oldest_due_seconds);
    expect(view.workers).toEqual([]);

    // A worker that shows no connection (behind a pooler) is known by what it has in hand.
    await leaveAllInProgress(sql, [made[0].id]);
    expect((await readsOf(admin).summary()).workers).toEqual([
      expect.objectContaining({ name: 'lost:1', started_at: null, in_progress: 1 }),
    ]);
  });
});
