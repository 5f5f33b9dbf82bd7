import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { WorkflowHealthIndicator, WorkflowService } from 'nestjs-pg-workflows';
import { captureLog } from '../support/log';
import { pageBlock, pageCode } from '../support/page-code';
import { describeWithPgBouncer, startPgBouncer, type PgBouncer } from '../support/pgbouncer';
import { workflowSuite } from '../support/suite';

const PAGE = 'docs/how-to/pgbouncer.md';
const page = pageCode(PAGE, {
  'order.workflow.ts': `
    import { Step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
    @Workflow()
    export class OrderWorkflow extends WorkflowOf {
      @Step() async first() {}
      @Step() async second() {}
    }`,
});

/** The page's settings, as they stand in its file. */
const settings = Object.fromEntries(
  pageBlock(PAGE, 'ini')
    .split('\n')
    .map((line) => line.split(' = ') as [string, string]),
);

describeWithPgBouncer('the how-to page on PgBouncer', () => {
  const suite = workflowSuite();
  let bouncer: PgBouncer;

  beforeAll(async () => {
    bouncer = await startPgBouncer(suite.database.url, settings);
    process.env.DATABASE_URL = bouncer.urlOf(suite.database.url);
    process.env.DATABASE_DIRECT_URL = suite.database.url;
  });
  afterAll(() => bouncer?.stop());
  afterEach(() => jest.restoreAllMocks());

  test('SWEEP-16 with its settings a worker listens, on one connection to the server, and says once that statements go unnamed', async () => {
    const log = captureLog();
    const app = await NestFactory.createApplicationContext(page('app.module.ts').AppModule, { abortOnError: false });
    try {
      const health = async () => (await app.get(WorkflowHealthIndicator).isHealthy()).workflows;
      await suite.eventually(async () => (await health()).listener === 'listening', 'it listens');
      expect(await health()).toMatchObject({ status: 'up', dispatcher: 'alive' });
      expect(
        await suite.sql(`select from pg_stat_activity where application_name = 'nestjs-pg-workflows listener'
          and datname = current_database()`),
      ).toHaveLength(1);

      const workflows = app.get(WorkflowService);
      const { OrderWorkflow } = page('order.workflow.ts');
      const runs = await workflows.startMany(OrderWorkflow, Array.from({ length: 50 }, () => ({}))); // prettier-ignore
      for (const run of runs) await suite.until(run, 'finished');

      expect(log.saying(/statements are not prepared under names/)).toHaveLength(1);
      expect(log.saying(/notifications do not arrive/)).toEqual([]);
      const database = new URL(suite.database.url).pathname.slice(1);
      const pool = (await bouncer.show('show pools')).find((row) => row.database === database);
      expect(pool).toMatchObject({ cl_waiting: 0, pool_mode: 'transaction' });
      const clients = (await bouncer.show('show clients')).map((row) => row.application_name);
      expect(clients).toEqual(expect.arrayContaining([expect.stringMatching(/^wf \w+ .*:\d+/)]));
    } finally {
      await app.close();
    }
  });

  test('it refuses a connection that asks for a setting it does not track, as the page says', async () => {
    const asking = suite.boot([], {
      dataSource: { url: process.env.DATABASE_URL, extra: { statement_timeout: 5_000 } },
    });
    await expect(asking).rejects.toThrow(/unsupported startup parameter/);
  });
});
