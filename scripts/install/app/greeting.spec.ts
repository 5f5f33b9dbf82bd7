import { Test } from '@nestjs/testing';
import { WorkflowService } from 'nestjs-pg-workflows';
import { AppModule } from './app.module.js';
import { GreetingWorkflow, Letterbox } from './greeting.workflow.js';

// Run by the fresh application's own test runner: Jest or Vitest, by what its template has.
describe('AppModule', () => {
  it('DATA-11 runs a two-step workflow to its end', async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
    await moduleRef.init();
    try {
      const workflows = moduleRef.get(WorkflowService);
      const run = await workflows.start(GreetingWorkflow, { args: { name: 'Ada', since: new Date('1843-07-10') } });
      const deadline = Date.now() + 20_000;
      while ((await run.reload()).status !== 'finished') {
        if (Date.now() > deadline) throw new Error(`20 s later the run is ${run.status}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect((await run.events()).map(({ name }) => name)).toEqual([
        'started',
        'step_scheduled',
        'step_started',
        'step_completed',
        'step_scheduled',
        'step_started',
        'step_completed',
        'finished',
      ]);
      expect(moduleRef.get(Letterbox).letters).toEqual(['Hello, Ada, since 1843']);
    } finally {
      await moduleRef.close();
    }
  }, 30_000);
});
