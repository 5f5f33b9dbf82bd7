import { Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { workflowSuite } from './support/suite';

@Workflow()
class TwoSteps extends WorkflowOf {
  @Step()
  async one(ctx: Ctx<this>) {
    ctx.output({ from: 'one' });
  }

  @Step()
  async two() {}
}

describe('tables, indexes and audit events', () => {
  const suite = workflowSuite();

  test('DATA-11 a plain two-step run leaves exactly its eight events', async () => {
    const { workflows } = await suite.boot([TwoSteps]);
    const run = await workflows.start(TwoSteps);
    await suite.until(run, 'finished');
    expect(await suite.trail(run)).toEqual([
      'started',
      'step_scheduled',
      'step_started',
      'step_completed',
      'step_scheduled',
      'step_started',
      'step_completed',
      'finished',
    ]);
  });
});
