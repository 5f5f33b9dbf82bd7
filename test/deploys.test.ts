import {
  StepNotDefinedError,
  Workflow,
  WorkflowDefinitionError,
  WorkflowJob,
  WorkflowOf,
  fanOut,
  removedStep,
  step,
  type JobHandler,
  type StepContext,
  type StepOptions,
  type WorkflowHandle,
  type WorkflowOptions,
} from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { membersOf } from './support/fan';
import { leaveInProgress } from './support/lost-worker';
import { script, Scripted } from './support/scripted';
import { signalsOf } from './support/signalled';
import { gate, workflowSuite, type TestApp } from './support/suite';
import { CLAIMS_NOTHING, sweep } from './support/sweep';

const ran: string[] = [];
let inOld = gate<StepContext>();
let oldGoesOn = gate();

/** A release's version of the class `Deployed`. */
function release(steps: NonNullable<WorkflowOptions['steps']>) {
  class Deployed extends WorkflowOf {}
  Workflow({ name: 'Deployed', steps })(Deployed);
  return Deployed;
}

const noting =
  (version: 'old' | 'new', name: string) =>
  ({ workflowId }: StepContext) =>
    void ran.push(`${workflowId} ${version} ${name}`);
const old = (name: string, options?: StepOptions) => step(name, noting('old', name), options);
const now = (name: string, options?: StepOptions) => step(name, noting('new', name), options);

/** A step of the old release that is at work until the test lets it go on; then it ends as `ending` does. */
const atWork = (name: string, ending: (ctx: StepContext) => unknown = () => undefined, options?: StepOptions) =>
  step(
    name,
    async (ctx) => {
      inOld.open(ctx);
      await oldGoesOn.opened;
      await ending(ctx);
      noting('old', name)(ctx);
    },
    options,
  );

/** In which release which steps of the run were performed, in order. */
const performed = (run: WorkflowHandle) =>
  ran.filter((line) => line.startsWith(run.id)).map((line) => line.slice(run.id.length + 1));

@WorkflowJob()
class Errand implements JobHandler {
  async perform() {}
}

describe('old and new code on one database', () => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;

  beforeEach(() => {
    ran.splice(0);
    [inOld, oldGoesOn] = [gate<StepContext>(), gate()];
  });

  const scheduledOn = (run: WorkflowHandle, row: string) =>
    eventually(async () => (await attempts(run)).at(-1) === `${row} scheduled`, `the run is scheduled on ${row}`);

  const makeDue = (...runs: readonly WorkflowHandle[]) =>
    sql(
      `update workflow_steps set available_at = statement_timestamp(), scheduled_at = statement_timestamp()
       where workflow_id = any($1::uuid[]) and status = 'scheduled'`,
      [runs.map(({ id }) => id)],
    );

  /** Has the application's workers look: what they were not told of, they find with the start of another run. */
  const wakeUp = async ({ workflows }: TestApp, workflow: ReturnType<typeof release>) => {
    const run = await workflows.start(workflow);
    await run.cancel();
  };

  const rowsOf = async (app: TestApp, run: WorkflowHandle) => attempts(await seenBy(app, run));

  /** The run as a process of this application has it. */
  const seenBy = ({ workflows }: TestApp, { id }: WorkflowHandle) => workflows.find(id);

  test('AMB-22 REN-02 a class that only the new release has is left alone by the old one, in whatever its runs are', async () => {
    const Added = release([now('one'), now('two', { waitFor: 'go', waitTimeout: '1h' })]);
    const before = await suite.boot([Scripted], { worker: { lease: '1s' }, stallThreshold: '1s', retention: '1s' });
    const after = await suite.boot([Added], { worker: false });
    const [due, lost, waits, ended] = [
      await after.workflows.start(Added),
      await after.workflows.start(Added),
      await after.workflows.start(Added),
      await after.workflows.start(Added),
    ];
    await leaveInProgress(sql, lost);
    await sql(
      `with row as (
         update workflow_steps set step_name = 'two', status = 'waiting', available_at = null, wait_for = 'go',
           waiting_since = statement_timestamp() - interval '2 hours', timeout_at = statement_timestamp() - interval '1 hour'
         where workflow_id = $1
       ), trail as (insert into workflow_events (workflow_id, name, actor) values ($1, 'step_waiting', 'system'))
       update workflows set status = 'waiting', current_step = 'two' where id = $1`,
      [waits.id],
    );
    await ended.cancel();
    await sql(`update workflows set ended_at = statement_timestamp() - interval '1 year' where id = $1`, [ended.id]);
    await sql(`update workflow_steps set available_at = available_at - interval '1 hour' where workflow_id = $1`, [
      due.id,
    ]);

    // The old release has looked, judged and swept: it has found what is of its own.
    const own = await before.workflows.start(Scripted, script({}));
    await until(own, 'finished');
    const starter = await suite.boot([Scripted], { worker: false });
    const ownLost = await starter.dataSource.transaction(async (manager) => {
      const run = await starter.workflows.start(Scripted, { ...script({}), manager });
      await leaveInProgress((query, parameters) => manager.query(query, parameters), run);
      return run;
    });
    await until(ownLost.id, 'paused');
    await sweep(before);
    for (const [run, status] of [
      [due, 'ready'],
      [lost, 'performing'],
      [waits, 'waiting'],
      [ended, 'cancelled'],
    ] as const) {
      expect((await run.reload()).status).toBe(status);
    }
    // What needs no list of steps is possible from there; the rest is refused by name.
    const foreign = await seenBy(before, due);
    await foreign.pause();
    await expect(foreign.resume()).rejects.toThrow(WorkflowDefinitionError);
    await expect((await seenBy(before, waits)).skip()).rejects.toThrow(WorkflowDefinitionError);
    await expect((await seenBy(before, waits)).signal('go')).rejects.toThrow(WorkflowDefinitionError);
    expect((await due.reload()).status).toBe('paused');
    await due.resume();

    const worker = await suite.boot([Added], { worker: { lease: '1s' } });
    await until(due, 'waiting');
    for (const run of [lost, waits]) await until(run, 'paused');
    await (await seenBy(worker, due)).signal('go');
    await until(due, 'finished');
    expect(performed(due)).toEqual(['new one', 'new two']);
  });

  test('REN-08 a step added after, and before, the one that a run is on', async () => {
    const Old = release([atWork('one'), old('two', { wait: '1h' }), old('three')]);
    const New = release([now('zero'), now('one'), now('between'), now('two'), now('late'), now('three')]);
    const before = await suite.boot([Old]);
    const run = await before.workflows.start(Old);
    await inOld.opened;
    // The new release is there while the old one is at work.
    const after = await suite.boot([New]);
    oldGoesOn.open();
    // Who performs a step knows what follows it: for the old release that is `two`.
    await scheduledOn(run, 'two#1');
    expect((await seenBy(after, run)).definitionOutdated).toBe(true);
    await before.close();
    await makeDue(run);
    await wakeUp(after, New);
    await until(run, 'finished');
    expect(performed(run)).toEqual(['old one', 'new two', 'new late', 'new three']);
  });

  test('REN-01 a step that only the new release has, claimed by a worker of the old one, pauses the run; resume goes on once that is gone', async () => {
    const New = release([now('one'), now('added', { wait: '1h' }), now('two')]);
    const Old = release([old('one'), old('two')]);
    const after = await suite.boot([New]);
    const run = await after.workflows.start(New);
    await scheduledOn(run, 'added#1');
    await after.close();
    const before = await suite.boot([Old]);
    await makeDue(run);
    await until(run, 'paused');
    expect((await attempts(await seenBy(before, run))).at(-1)).toBe('added#1 failed, paused: StepNotDefinedError');
    await before.close();
    const later = await suite.boot([New]);
    await (await seenBy(later, run)).resume();
    await until(run, 'finished');
    expect(performed(run)).toEqual(['new one', 'new added', 'new two']);
  });

  test('REN-01 REN-03 a step buried, or plainly removed, while runs stand before it, on it, and are at work on it in the old release', async () => {
    const Old = release([
      old('one', { wait: '1h' }),
      atWork('buried'),
      old('two', { wait: '1h' }),
      atWork('removed'),
      old('three'),
    ]);
    const New = release([now('one'), removedStep('buried'), now('two'), now('three')]);
    const before = await suite.boot([Old], { worker: { queues: ['default'] } });
    const on = async (name: string) => {
      const run = await before.workflows.start(Old);
      await scheduledOn(run, 'one#1');
      await sql('update workflow_steps set step_name = $2 where workflow_id = $1', [run.id, name]);
      await sql('update workflows set current_step = $2 where id = $1', [run.id, name]);
      return run;
    };
    const [early, onBuried, onRemoved, inBuried, inRemoved] = [
      await on('one'),
      await on('buried'),
      await on('removed'),
      await on('buried'),
      await on('removed'),
    ];
    for (const run of [inBuried, inRemoved]) {
      inOld = gate<StepContext>();
      await makeDue(run);
      await wakeUp(before, Old);
      await inOld.opened;
    }
    // Both releases are there; the old one claims nothing more of what it has not in hand.
    const after = await suite.boot([New], { worker: { lease: '1s' } });
    const sweeper = await suite.boot([New], { worker: CLAIMS_NOTHING });
    await sweep(sweeper);
    for (const run of [inBuried, inRemoved]) expect((await attempts(run)).at(-1)).toMatch(/in_progress$/);
    oldGoesOn.open();
    await scheduledOn(inBuried, 'two#1');
    await until(inRemoved, 'finished');
    await before.close();

    await makeDue(early, onBuried, onRemoved, inBuried);
    await wakeUp(after, New);
    for (const run of [early, onBuried, inBuried]) await until(run, 'finished');
    await until(onRemoved, 'paused');
    expect(performed(early)).toEqual(['new one', 'new two', 'new three']);
    expect(await rowsOf(after, onBuried)).toEqual(['buried#1 skipped', 'two#1 completed', 'three#1 completed']);
    expect(await rowsOf(after, inBuried)).toEqual(['buried#1 completed', 'two#1 completed', 'three#1 completed']);
    expect(performed(inRemoved).slice(0, 1)).toEqual(['old removed']);
    expect(await rowsOf(after, onRemoved)).toEqual(['removed#1 failed, paused: StepNotDefinedError']);
    await (await seenBy(after, onRemoved)).resumeAt('three');
    await until(onRemoved, 'finished');
    expect(after.reported).toEqual([expect.objectContaining({ error: expect.any(StepNotDefinedError) })]);
  });

  test('REN-01 an attempt of a removed step that the old release reattempts is the next claimer’s: the new one pauses', async () => {
    const Old = release([atWork('gone', (ctx) => ctx.reattempt({ wait: '1h' })), old('last')]);
    const New = release([now('last')]);
    const before = await suite.boot([Old]);
    const run = await before.workflows.start(Old);
    await inOld.opened;
    const after = await suite.boot([New]);
    oldGoesOn.open();
    await scheduledOn(run, 'gone#2');
    await before.close();
    await makeDue(run);
    await wakeUp(after, New);
    await until(run, 'paused');
    expect(await rowsOf(after, run)).toEqual([
      'gone#1 failed, reattempted',
      'gone#2 failed, paused: StepNotDefinedError',
    ]);
    await (await seenBy(after, run)).resumeAt('last');
    await until(run, 'finished');
  });

  test.each([
    ['pause', 'paused'],
    ['reattempt', 'paused'],
    ['cancel', 'cancelled'],
  ] as const)(
    'AMB-60 SWEEP-01 an old worker is lost in the middle of a step that the new release no longer has: %s',
    async (stallAction, status) => {
      const Old = release([old('gone'), old('last')]);
      const New = release([now('last')]);
      const before = await suite.boot([Old], { worker: false });
      const run = await before.workflows.start(Old);
      await leaveInProgress(sql, run);
      const after = await suite.boot([New], { worker: CLAIMS_NOTHING, stallAction, stallThreshold: '30s' });
      await sweep(after);
      expect((await run.reload()).status).toBe(status);
      expect(await attempts(run)).toEqual([`gone#1 failed, ${status}: StepStalledError`]);
      if (status === 'cancelled') return;
      await (await seenBy(after, run)).resumeAt('last');
      await suite.boot([New]);
      await until(run, 'finished');
    },
  );

  test('REN-01 AMB-21 AMB-57 a step whose waitFor, or all of it, the new release takes away while runs wait on it', async () => {
    const Old = release([old('plain', { waitFor: 'go' }), old('gone', { waitFor: 'go' }), old('last')]);
    const New = release([now('plain'), now('last')]);
    const before = await suite.boot([Old]);
    const [onPlain, onGone, woken] = [
      await before.workflows.start(Old),
      await before.workflows.start(Old),
      await before.workflows.start(Old),
    ];
    await onGone.signal('go');
    await eventually(
      async () => (await attempts(onGone)).at(-1) === 'gone#1 waiting',
      'it waits on the step that will be gone',
    );
    for (const run of [onPlain, woken]) await until(run, 'waiting');
    await before.close();
    const oldService = await suite.boot([Old], { worker: false });
    const after = await suite.boot([New], { worker: CLAIMS_NOTHING });
    // While the old release is still there, its signals wake what waits.
    await (await seenBy(oldService, woken)).signal('go');
    expect((await seenBy(oldService, woken)).status).toBe('ready');
    // Sent to the new one, they wait with the run.
    await (await seenBy(after, onPlain)).signal('go');
    await sweep(after);
    expect(await rowsOf(after, onPlain)).toEqual(['plain#1 failed, paused: StepNotDefinedError']);
    expect(await rowsOf(after, onGone)).toEqual(['plain#1 completed', 'gone#1 failed, paused: StepNotDefinedError']);
    expect(await signalsOf(sql, onPlain)).toEqual(['go pending']);
    const worker = await suite.boot([New]);
    await (await seenBy(worker, onPlain)).resume();
    await (await seenBy(worker, onGone)).resumeAt('last');
    for (const run of [onPlain, onGone, woken]) await until(run, 'finished');
    expect(performed(woken)).toEqual(['new plain', 'new last']);
    expect(performed(onPlain)).toEqual(['new plain', 'new last']);
    // Used up with its step, though that asked for it no more.
    expect(await signalsOf(sql, woken)).toEqual(['go consumed by plain#1']);
  });

  test('SIG-01 REN-08 a step that gets a waitFor while runs are scheduled on it: the new release parks them, the old one runs them', async () => {
    const Old = release([old('one'), old('two', { wait: '1h' }), old('last')]);
    const New = release([now('one'), now('two', { waitFor: 'go' }), now('last')]);
    const before = await suite.boot([Old]);
    const [byOld, byNew] = [await before.workflows.start(Old), await before.workflows.start(Old)];
    for (const run of [byOld, byNew]) await scheduledOn(run, 'two#1');
    await makeDue(byOld);
    await wakeUp(before, Old);
    await until(byOld, 'finished');
    await before.close();
    await makeDue(byNew);
    const after = await suite.boot([New]);
    await until(byNew, 'waiting');
    await (await seenBy(after, byNew)).signal('go');
    await until(byNew, 'finished');
    expect(performed(byOld)).toEqual(['old one', 'old two', 'old last']);
    expect(performed(byNew)).toEqual(['old one', 'new two', 'new last']);
  });

  test('FLOW-01 FLOW-02 guards that the new release adds are asked by the new release only; each step is performed or skipped once', async () => {
    const Old = release([old('one'), old('two'), old('three')]);
    class Guarded extends WorkflowOf {
      isUnwanted() {
        return true;
      }
    }
    Workflow({ name: 'Deployed', steps: [now('one'), now('two', { skipIf: 'isUnwanted' }), now('three')] })(Guarded);
    const starter = await suite.boot([Old], { worker: false });
    const runs = await starter.workflows.startMany(
      Old,
      Array.from({ length: 40 }, () => ({})),
    );
    // A slot each, so that neither takes all.
    await Promise.all([
      suite.boot([Old], { worker: { concurrency: 2 } }),
      suite.boot([Guarded], { worker: { concurrency: 2 } }),
    ]);
    for (const run of runs) await until(run, 'finished');
    for (const run of runs) {
      const [one, two, ...rest] = await attempts(run);
      expect([one, ...rest]).toEqual(['one#1 completed', 'three#1 completed']);
      const steps = performed(run);
      expect(steps.map((line) => line.split(' ')[1])).toEqual(
        two === 'two#1 skipped' ? ['one', 'three'] : ['one', 'two', 'three'],
      );
      // The old release knows no guard, the new one asks it.
      expect(steps).not.toContain('new two');
    }
  });

  test('DEF-19 REN-07 a class that is renamed, and says its old name by name:, goes on with its runs', async () => {
    class OldName extends WorkflowOf {}
    Workflow({ steps: [atWork('one'), old('two')] })(OldName);
    class NewName extends WorkflowOf {}
    Workflow({ name: 'OldName', steps: [now('one'), now('two')] })(NewName);
    class Stranded extends WorkflowOf {}
    Workflow({ name: 'NewName', steps: [now('one'), now('two')] })(Stranded);
    const before = await suite.boot([OldName], { worker: { concurrency: 1 } });
    const [first, second] = [await before.workflows.start(OldName), await before.workflows.start(OldName)];
    await inOld.opened;
    // Without name: it is another class.
    const stranger = await suite.boot([Stranded]);
    await sweep(stranger);
    expect((await second.reload()).status).toBe('ready');
    await suite.boot([NewName]);
    await until(second, 'finished');
    oldGoesOn.open();
    await until(first, 'finished');
    expect(performed(second)).toEqual(['new one', 'new two']);
    expect(performed(first)[0]).toBe('old one');
    expect((await seenBy(before, second)).workflowName).toBe('OldName');
  });

  test('AMB-21 AMB-14 a fan-out that the new release has no more: the sweep pauses its run, and its members run all the same', async () => {
    const Old = release([
      fanOut('fan', async (_ctx, batch) => batch.add(Errand, {}, { queue: 'errands' })),
      old('last'),
    ]);
    const New = release([now('last')]);
    const before = await suite.boot([Old, Errand], { worker: { queues: ['default'] } });
    const run = await before.workflows.start(Old);
    await until(run, 'waiting');
    const after = await suite.boot([New, Errand], { worker: { queues: ['default'] } });
    await sweep(after);
    expect(await rowsOf(after, run)).toEqual(['fan#1 failed, paused: StepNotDefinedError']);
    await suite.boot([New, Errand], { worker: { queues: ['errands'] } });
    await eventually(async () => (await membersOf(sql, run))[0] === 'fan 1 [0] completed', 'its member has run');
    await (await seenBy(after, run)).resumeAt('last');
    await until(run, 'finished');
    expect((await run.events()).map(({ name }) => name)).not.toContain('fan_out_finished');
  });

  test('REN-01 REN-08 sixty runs through a rolling deploy: each comes to its end, and no completed step is performed twice', async () => {
    const Old = release(['one', 'two', 'three', 'four'].map((name) => old(name, { wait: name === 'three' ? 5 : 0 })));
    const New = release(['one', 'two', 'added', 'three', 'four'].map((name) => now(name)));
    const before = await suite.boot([Old], { worker: { concurrency: 3 } });
    const runs = await before.workflows.startMany(
      Old,
      Array.from({ length: 30 }, () => ({})),
    );
    const after = await suite.boot([New], { worker: { concurrency: 3 } });
    runs.push(
      ...(await after.workflows.startMany(
        New,
        Array.from({ length: 30 }, () => ({})),
      )),
    );
    await eventually(async () => {
      const [{ left }] = await sql(
        `select count(*)::int as left from workflows where id = any($1::uuid[]) and status in ('ready', 'performing')`,
        [runs.map(({ id }) => id)],
      );
      return left === 0;
    }, 'all have come to an end, or wait for a person');
    await before.close();
    for (const { id } of runs) {
      const run = await after.workflows.find(id);
      if (run.status !== 'paused') continue;
      // What only the new release has was claimed by the old one.
      expect((await attempts(run)).at(-1)).toBe('added#1 failed, paused: StepNotDefinedError');
      await run.resume();
    }
    for (const run of runs) {
      await until(run, 'finished');
      const steps = performed(run).map((line) => line.split(' ')[1]);
      expect(steps.filter((name) => name !== 'added')).toEqual(['one', 'two', 'three', 'four']);
      expect(steps.length).toBeLessThanOrEqual(5);
    }
  });
});
