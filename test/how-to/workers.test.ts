import 'reflect-metadata';
import { Step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { pageCode } from '../support/page-code';
import { workflowSuite } from '../support/suite';

const { workflowSettings } = pageCode('docs/how-to/workers.md')('workflow.settings.ts');

@Workflow({ name: 'MailOfAShop', jobOptions: { queue: 'mail' } })
class Mail extends WorkflowOf {
  @Step() async send() {}
}

@Workflow({ name: 'BulkOfAShop', jobOptions: { queue: 'bulk' } })
class Bulk extends WorkflowOf {
  @Step() async send() {}
}

describe('the how-to page on workers', () => {
  const suite = workflowSuite();
  const boot = (env: Record<string, string>) => suite.boot([Mail, Bulk], workflowSettings(env));

  test('one application is a web process, which starts runs and runs none, or a worker, for the queues that its environment names', async () => {
    const web = await boot({ ROLE: 'web' });
    const [mail, bulk] = [await web.workflows.start(Mail), await web.workflows.start(Bulk)];
    const worker = await boot({ ROLE: 'worker', QUEUES: 'mail', CONCURRENCY: '5' });
    await suite.until(mail, 'finished');
    // It looked for what is due more than once, and left the other queue alone.
    await suite.until(await worker.workflows.start(Mail), 'finished');
    expect((await bulk.reload()).status).toBe('ready');
    await boot({ ROLE: 'worker' });
    await suite.until(bulk, 'finished');
  });
});
