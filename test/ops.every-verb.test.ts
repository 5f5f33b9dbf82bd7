import type { VerbOptions, WorkflowHandle } from 'nestjs-pg-workflows';
import { Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

describe('what all verbs have in common', () => {
  const suite = workflowSuite();
  const later = new Date(Date.now() + 3_600_000);
  const VERBS: [string, string, (run: WorkflowHandle, by?: VerbOptions) => Promise<WorkflowHandle>][] = [
    ['pause', 'paused', (run, by) => run.pause(by)],
    ['resume', 'resumed', async (run, by) => (await run.pause()).resume(by)],
    ['resumeAt', 'resumed', async (run, by) => (await run.pause()).resumeAt('two', by)],
    ['cancel', 'cancelled', (run, by) => run.cancel(by)],
    ['runNow', 'run_now', (run, by) => run.runNow(by)],
    ['reschedule', 'rescheduled', (run, by) => run.reschedule(later, by)],
    ['rerun', 'rerun', async (run, by) => (await run.cancel()).rerun(by)],
  ];

  test.each(VERBS)('OPS-16 who called %s, and why, stands on its event', async (name, event, act) => {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const run = await workflows.start(Scripted, script({}));
    const result = await act(run, { actor: 'alice', reason: 'because' });
    const of = (await run.events()).filter((one) => one.name === event);
    expect(of).toEqual([expect.objectContaining({ actor: 'alice', reason: 'because' })]);
    const trails = [await run.events(), result === run ? [] : await result.events()].flat();
    const scheduledBy = trails.filter((one) => one.name === 'step_scheduled').map(({ actor }) => actor);
    expect(scheduledBy).toEqual(['resumeAt', 'rerun'].includes(name) ? ['app', 'alice'] : ['app']);

    const other = await workflows.start(Scripted, script({}));
    await act(other);
    const [unnamed] = (await other.events()).filter((one) => one.name === event);
    expect(unnamed).toMatchObject({ actor: 'app', reason: null });
  });

  test.each(VERBS)('OPS-19 the handle shows the new status after %s without a reload', async (name, _event, act) => {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const run = await workflows.start(Scripted, script({}));
    const other = await workflows.find(run.id);
    const result = await act(run);
    expect(result === run).toBe(name !== 'rerun');
    const known = [run.status, run.currentStep, run.availableActions];
    await run.reload();
    expect(known).toEqual([run.status, run.currentStep, run.availableActions]);

    // Another handle goes on showing what it read, and reads the rows as they are now.
    expect(other).toMatchObject({ status: 'ready', currentStep: 'one' });
    expect(await other.events()).toEqual(await run.events());
    expect(await other.steps()).toEqual(await run.steps());
    expect(await other.signals()).toEqual([]);
    expect((await other.reload()).status).toBe(run.status);
  });
});
