import { Step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import { fanning, fanScript, Task } from './support/fan';
import { holdRuns } from './support/locks';
import { Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

const Fans = fanning('Fans');

@Workflow()
class Elsewhere extends WorkflowOf {
  @Step()
  async only() {}
}

/** What keeps a process alive, by kind. */
function handles(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

describe('the tester’s application', () => {
  const suite = workflowSuite();

  test('TEST-01 an application with a worker is refused: it would run the steps first', async () => {
    const { app } = await suite.boot([Scripted]);
    expect(() => createWorkflowTester(app)).toThrow(/has a worker.*worker: false/);
  });

  test('TEST-01 a run that somebody else holds, or of a class that is not loaded, is not run: the error says so', async () => {
    const { app, workflows } = await suite.boot([Scripted], { worker: false });
    const flows = createWorkflowTester(app);
    const held = await workflows.start(Scripted, script({}));
    const lock = await holdRuns(suite, [held.id]);
    await expect(flows.performNextStep(held)).rejects.toThrow(/could not be claimed: somebody else holds the run/);
    await lock.release();
    await flows.speedrun(held);
    expect(held.status).toBe('finished');

    const other = await suite.boot([Elsewhere], { worker: false });
    const { id } = await other.workflows.start(Elsewhere);
    const foreign = await workflows.find(id);
    await expect(flows.performNextStep(foreign)).rejects.toThrow(/its class is not loaded here/);
    expect(await suite.trail(id)).toEqual(['started', 'step_scheduled']);
  });

  test.each([
    ['worker: false, driven by the helpers', false],
    ['a worker that listens', true],
  ])('TEST-10 close() leaves no timer, socket or thread: %s', async (_what, worker) => {
    await suite.sql('select 1');
    const before = handles();
    const { app, workflows, close } = await suite.boot([Scripted, Fans, Task], worker ? {} : { worker: false });
    const run = await workflows.start(Scripted, script({}));
    const fans = await workflows.start(Fans, fanScript({ size: 2 }));
    if (worker) {
      for (const one of [run, fans]) await suite.until(one, 'finished');
    } else {
      const flows = createWorkflowTester(app);
      await flows.speedrun(run);
      await flows.performNextStep(fans);
      await flows.completeFanOut(fans);
      await flows.speedrun(fans);
    }
    expect(handles()).not.toEqual(before);
    await close();
    // Sockets close in a turn of their own. What was open before may have gone meanwhile.
    await suite.eventually(
      () => Object.entries(handles()).every(([kind, count]) => count <= (before[kind] ?? 0)),
      'nothing is open any more',
    );
  });
});
