import { createHash } from 'node:crypto';
import {
  RemovedStep,
  Step,
  StepNotDefinedError,
  Workflow,
  WorkflowDefinitionError,
  WorkflowOf,
  removedStep,
  step,
  type StepContext,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { attemptsOf, newestRow } from './support/rows';
import { held } from './support/scripted';
import { workflowSuite } from './support/suite';

type Declared = NonNullable<NonNullable<Parameters<typeof Workflow>[0]>['steps']>;

const asked: string[] = [];

/** A version of the class "Signup", as a release of the application would have it. */
function signup(steps: Declared, options: Parameters<typeof Workflow>[0] = {}) {
  class Signup extends WorkflowOf {}
  Workflow({ name: 'Signup', ...options, steps })(Signup);
  return Signup;
}

/** A step that notes its name. */
const noting = (name: string) => step(name, () => void asked.push(name));

const OLD = signup([
  noting('welcome'),
  step('reminder', () => void asked.push('reminder'), { wait: '1 hour' }),
  noting('survey'),
]);
const WITHOUT_REMINDER = signup([noting('welcome'), noting('survey')], {
  onException: [{ action: 'cancel', report: 'never' }],
});
const BURIED = signup([noting('welcome'), removedStep('reminder'), noting('survey')]);
const BURIED_LAST = signup([noting('welcome'), removedStep('reminder'), removedStep('survey')]);

@Workflow()
class Stranger extends WorkflowOf {
  @Step()
  async only() {}
}

describe('workflows whose classes change under their runs', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;

  beforeEach(() => asked.splice(0));

  /** A run of the old class, scheduled on `reminder` and due unless told otherwise; the application is then stopped. */
  async function runOnReminder({ due = true } = {}): Promise<string> {
    const app = await suite.boot([OLD]);
    const run = await app.workflows.start(OLD);
    await suite.eventually(
      async () => (await run.reload()).currentStep === 'reminder' && run.status === 'ready',
      'the run is scheduled on the reminder',
    );
    await app.close();
    if (due) {
      await sql(
        `update workflow_steps set scheduled_at = statement_timestamp(), available_at = statement_timestamp()
         where workflow_id = $1 and status = 'scheduled'`,
        [run.id],
      );
    }
    asked.splice(0);
    return run.id;
  }

  async function cancelAll(find: (id: string) => Promise<WorkflowHandle>): Promise<void> {
    const ongoing = await sql<{ id: string }>('select id from workflows where ended_at is null');
    for (const { id } of ongoing) await (await find(id)).cancel();
  }

  test('REN-01 a step that is no longer declared pauses the run; policies are not asked', async () => {
    const id = await runOnReminder();
    const { workflows, reported } = await suite.boot([WITHOUT_REMINDER, Stranger]);
    await until(id, 'paused');
    const run = await workflows.find(id);
    expect(await attemptsOf(sql, id)).toEqual(['welcome 1 completed', 'reminder 1 failed']);
    const [, failed] = await run.steps();
    expect(failed).toMatchObject({ outcome: 'paused', error: { class: 'StepNotDefinedError' } });
    expect(failed.error!.message).toContain('"reminder"');
    expect(run.currentStep).toBe('reminder');
    // No body was about to run: there is no `step_started`.
    expect((await trail(id)).slice(-3)).toEqual(['step_scheduled', 'step_failed', 'paused']);
    await suite.eventually(() => reported.length > 0, 'the error is reported');
    expect(reported).toEqual([
      {
        error: expect.any(StepNotDefinedError),
        context: expect.objectContaining({ stepName: 'reminder', outcome: 'paused' }),
      },
    ]);

    // It meets it again, as a new attempt, for as long as the step is missing.
    await run.resume();
    await suite.eventually(async () => (await attemptsOf(sql, id)).length === 3, 'the step was scheduled again');
    await until(id, 'paused');
    expect((await attemptsOf(sql, id)).slice(1)).toEqual(['reminder 1 failed', 'reminder 2 failed']);

    await (await run.reload()).resumeAt('survey');
    await until(id, 'finished');
    expect(asked).toEqual(['survey']);
    expect((await attemptsOf(sql, id)).slice(1)).toEqual([
      'reminder 1 failed',
      'reminder 2 failed',
      'survey 1 completed',
    ]);
  });

  test('REN-01 once the step is declared again, resume runs it', async () => {
    const id = await runOnReminder();
    const without = await suite.boot([WITHOUT_REMINDER]);
    await until(id, 'paused');
    await without.close();
    const { workflows } = await suite.boot([OLD]);
    await (await workflows.find(id)).resume();
    await until(id, 'finished');
    expect(asked).toEqual(['reminder', 'survey']);
  });

  test('REN-01 a run that paused itself in a step that is gone: resume says so, resumeAt goes on', async () => {
    const pausing = signup([step('welcome', (ctx: StepContext) => ctx.pause()), noting('survey')]);
    const before = await suite.boot([pausing]);
    const { id } = await before.workflows.start(pausing);
    await until(id, 'paused');
    await before.close();
    const { workflows } = await suite.boot([signup([noting('survey')])]);
    const run = await workflows.find(id);
    await expect(run.resume()).rejects.toThrow(StepNotDefinedError);
    expect((await run.reload()).status).toBe('paused');
    await run.resumeAt('survey');
    await until(id, 'finished');
    expect(await attemptsOf(sql, id)).toEqual(['welcome 1 completed', 'survey 1 completed']);
  });

  test('REN-01 a body whose step is removed while it runs elsewhere still records its outcome', async () => {
    // Its own process goes by the class it has; only the next row meets the new one.
    const one = held();
    const before = signup([
      step('welcome', (ctx: StepContext) => one.body(ctx)),
      step('reminder', () => {}, { wait: 1 }),
    ]);
    const app = await suite.boot([before]);
    const run = await app.workflows.start(before);
    await one.reached;
    const after = await suite.boot([signup([noting('survey')])]);
    // The first application stops once its body has ended: what it schedules is the other's.
    const closed = app.close();
    one.release();
    await closed;
    await until(run, 'paused');
    expect(await attemptsOf(sql, run)).toEqual(['welcome 1 completed', 'reminder 1 failed']);
    await cancelAll((id) => after.workflows.find(id));
  });

  test('REN-02 a worker without the class leaves the row alone, for one that has it', async () => {
    const id = await runOnReminder();
    const [before] = await sql(
      `select xmin::text, s.* from workflow_steps s where workflow_id = $1 and status = 'scheduled'`,
      [id],
    );
    const stranger = await suite.boot([Stranger]);
    await until(await stranger.workflows.start(Stranger), 'finished');
    const [after] = await sql(
      `select xmin::text, s.* from workflow_steps s where workflow_id = $1 and status = 'scheduled'`,
      [id],
    );
    expect(after).toEqual(before);
    expect(await until(id, 'ready')).toBe('ready');

    await suite.boot([OLD]);
    await until(id, 'finished');
    expect(asked).toEqual(['reminder', 'survey']);
  });

  test('REN-02 verbs that need no list of steps work without the class, the others say that it is not loaded', async () => {
    const id = await runOnReminder();
    const { workflows } = await suite.boot([Stranger], { worker: false });
    const run = await workflows.find(id);
    expect(run.definitionOutdated).toBe(false);
    await run.reschedule(new Date(Date.now() + 3_600_000));
    await run.runNow();
    await run.pause();
    for (const refused of [run.resume(), run.resumeAt('survey')]) {
      await expect(refused).rejects.toThrow(WorkflowDefinitionError);
    }
    expect((await run.reload()).status).toBe('paused');
    await run.cancel();
    await expect(run.rerun()).rejects.toThrow(WorkflowDefinitionError);
  });

  test('REN-03 a run on a gravestone passes over it to the step declared after it', async () => {
    const id = await runOnReminder();
    const { workflows } = await suite.boot([BURIED]);
    await until(id, 'finished');
    expect(asked).toEqual(['survey']);
    expect(await attemptsOf(sql, id)).toEqual(['welcome 1 completed', 'reminder 1 skipped', 'survey 1 completed']);
    const run = await workflows.find(id);
    expect((await run.steps())[1]).toMatchObject({ outcome: 'skipped', startedAt: null, error: null });
    const passed = await run.events();
    const at = passed.findIndex(({ name }) => name === 'step_skipped');
    expect(passed[at]).toMatchObject({ actor: 'system' });
    expect(passed.slice(at - 1, at + 2).map(({ name }) => name)).toEqual([
      'step_scheduled',
      'step_skipped',
      'step_scheduled',
    ]);
  });

  test('REN-03 a new run passes over a gravestone without a row', async () => {
    const { workflows } = await suite.boot([BURIED]);
    const run = await workflows.start(BURIED);
    await until(run, 'finished');
    expect(asked).toEqual(['welcome', 'survey']);
    expect(await attemptsOf(sql, run)).toEqual(['welcome 1 completed', 'survey 1 completed']);
  });

  test('REN-03 a gravestone in the first place is passed over at the start', async () => {
    const buriedFirst = signup([removedStep('before'), noting('welcome')]);
    const { workflows } = await suite.boot([buriedFirst]);
    const run = await workflows.start(buriedFirst);
    expect(run.currentStep).toBe('welcome');
    await until(run, 'finished');
    expect(await attemptsOf(sql, run)).toEqual(['welcome 1 completed']);
  });

  test('REN-03 a step decorated with @RemovedStep is a gravestone too', async () => {
    @Workflow({ name: 'Signup' })
    class Decorated extends WorkflowOf {
      @Step()
      async welcome() {}

      @RemovedStep() reminder?: never;

      @Step()
      async survey() {
        asked.push('survey');
      }
    }
    const id = await runOnReminder();
    await suite.boot([Decorated]);
    await until(id, 'finished');
    expect(asked).toEqual(['survey']);
  });

  test('REN-04 a run on a gravestone in the last place ends finished', async () => {
    const id = await runOnReminder();
    await suite.boot([BURIED_LAST]);
    await until(id, 'finished');
    expect(asked).toEqual([]);
    expect(await attemptsOf(sql, id)).toEqual(['welcome 1 completed', 'reminder 1 skipped']);
    expect((await trail(id)).slice(-2)).toEqual(['step_skipped', 'finished']);
  });

  test('REN-05 removedStepsInFlight counts the ongoing runs on each gravestone, zeros included', async () => {
    await sql('delete from workflows');
    await sql('delete from workflow_events');
    const later = () => runOnReminder({ due: false });
    const [ready, paused, cancelled] = [await later(), await later(), await later()];
    const stranger = await suite.boot([Stranger], { worker: false });
    await (await stranger.workflows.find(paused)).pause();
    await (await stranger.workflows.find(cancelled)).cancel();
    const { workflows } = await suite.boot([BURIED_LAST], { worker: false });
    expect(await workflows.removedStepsInFlight(BURIED_LAST)).toEqual({ reminder: 2, survey: 0 });
    await (await workflows.find(ready)).cancel();
    expect(await workflows.removedStepsInFlight(BURIED_LAST)).toEqual({ reminder: 1, survey: 0 });
    await cancelAll((id) => workflows.find(id));
    expect(await workflows.removedStepsInFlight(BURIED_LAST)).toEqual({ reminder: 0, survey: 0 });

    const other = await suite.boot([OLD], { worker: false });
    expect(await other.workflows.removedStepsInFlight(OLD)).toEqual({});
  });

  describe('the digest of the steps', () => {
    async function digestOf(workflow: typeof OLD): Promise<string> {
      const { workflows } = await suite.boot([workflow], { worker: false });
      const run = await workflows.start(workflow);
      const [{ definition_digest }] = await sql('select definition_digest from workflows where id = $1', [run.id]);
      await run.cancel();
      return definition_digest;
    }

    test('REN-06 is equal for equal lists, whatever else the classes say', async () => {
      const digest = await digestOf(signup([step('a', () => {}), step('b', () => {})]));
      // Written out: another process, and another version of this package, must come to the same.
      const expected = createHash('sha256').update('[["a","step"],["b","step"]]').digest('hex');
      expect(digest).toBe(expected);
      const other = signup([step('a', () => 'other', { wait: '1 hour' }), step('b', () => {})], { name: 'Another' });
      expect(await digestOf(other)).toBe(digest);
    });

    test('REN-06 differs after adding, removing, renaming, reordering and burying a step', async () => {
      const none = () => {};
      const versions = [
        signup([step('a', none), step('b', none)]),
        signup([step('a', none), step('b', none), step('c', none)]),
        signup([step('a', none)]),
        signup([step('a', none), step('z', none)]),
        signup([step('b', none), step('a', none)]),
        signup([step('a', none), removedStep('b')]),
      ];
      const digests = new Set<string>();
      for (const version of versions) digests.add(await digestOf(version));
      expect(digests.size).toBe(versions.length);
    });

    test('REN-07 a run of another list is outdated, and goes on by the loaded class', async () => {
      const id = await runOnReminder();
      const same = await suite.boot([OLD], { worker: false });
      expect((await same.workflows.find(id)).definitionOutdated).toBe(false);
      await same.close();

      const { workflows } = await suite.boot([BURIED]);
      const run = await workflows.find(id);
      expect(run.definitionOutdated).toBe(true);
      await until(id, 'finished');
      expect(asked).toEqual(['survey']);
      // What it began on stays on record.
      expect((await run.reload()).definitionOutdated).toBe(true);
      expect((await workflows.start(BURIED)).definitionOutdated).toBe(false);
    });
  });

  test('REN-08 a step inserted after the current one is run by runs already under way', async () => {
    const id = await runOnReminder();
    const inserted = signup([noting('welcome'), noting('reminder'), noting('tips'), noting('survey')]);
    await suite.boot([inserted]);
    await until(id, 'finished');
    expect(asked).toEqual(['reminder', 'tips', 'survey']);
    expect(await attemptsOf(sql, id)).toEqual([
      'welcome 1 completed',
      'reminder 1 completed',
      'tips 1 completed',
      'survey 1 completed',
    ]);
  });

  test('REN-08 a step inserted before the current one is not run by them, and one put after a pause is', async () => {
    const id = await runOnReminder();
    const before = await suite.boot([OLD], { worker: false });
    await (await before.workflows.find(id)).pause();
    await before.close();
    const reordered = signup([
      noting('tips'),
      noting('welcome'),
      step('reminder', (ctx) => ctx.pause()),
      noting('survey'),
    ]);
    const { workflows, close } = await suite.boot([reordered]);
    await (await workflows.find(id)).resume();
    await suite.eventually(
      async () => (await newestRow(sql, await workflows.find(id))).status === 'completed',
      'it paused',
    );
    await until(id, 'paused');
    await close();

    const extended = signup([noting('welcome'), noting('reminder'), noting('thanks'), noting('survey')]);
    const app = await suite.boot([extended]);
    await (await app.workflows.find(id)).resume();
    await until(id, 'finished');
    expect(asked).toEqual(['thanks', 'survey']);
  });
});
