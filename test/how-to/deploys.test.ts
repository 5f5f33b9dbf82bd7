import 'reflect-metadata';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from '@swc/core';
import { ensureBuilt } from '../support/built';
import { BUILD_MS, cli } from '../support/cli';
import { dropDatabase, urlOf, withClient } from '../support/database-names';
import { pageBlock, pageCode } from '../support/page-code';
import { workflowSuite } from '../support/suite';

const APP = (providers: string, imports: string) => `
  import 'reflect-metadata';
  import { Module } from '@nestjs/common';
  import { TypeOrmModule } from '@nestjs/typeorm';
  import { WorkflowModule } from 'nestjs-pg-workflows';
  ${imports}
  @Module({
    imports: [TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, autoLoadEntities: true }), WorkflowModule.forRoot()],
    providers: [${providers}],
  })
  export class AppModule {}`;
const WITH_SHOP = APP(
  'OrderWorkflow, Shop',
  `import { OrderWorkflow } from './order.workflow'; import { Shop } from '../shop';`,
);

const PAGE = 'docs/how-to/zero-downtime-deploys.md';
const page = pageCode(PAGE, {
  'shop.ts': `export class Shop {}`,
  'release-1/app.module.ts': WITH_SHOP,
  'release-2/app.module.ts': WITH_SHOP,
});
const TYPEORM = path.join(__dirname, '../../node_modules/typeorm/cli.js');
const built = path.join(__dirname, '../../reports/page-code/zero-downtime-deploys');

/** A file of the page, as a reader's build makes it. */
function compiled(source: string, type: 'commonjs' | 'es6' = 'commonjs'): string {
  return transformSync(source, {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type },
  }).code;
}

/** The application of a release, compiled as a reader's build would; `change` makes another release of it. */
function build(release: string, change: (code: string) => string = (code) => code, from = release): string {
  mkdirSync(path.join(built, release), { recursive: true });
  for (const file of ['shop', `${from}/order.workflow`, `${from}/app.module`]) {
    const source = change(readFileSync(path.join(built, `${file}.ts`), 'utf8'));
    writeFileSync(path.join(built, `${file.replace(from, release)}.js`), compiled(source));
  }
  return path.join(built, release, 'app.module.js');
}

/** The page's application and its data source, in a folder of their own. */
function buildMigrating(type: 'commonjs' | 'es6'): string {
  const folder = path.join(built, `migrating-${type}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: type === 'es6' ? 'module' : 'commonjs' }));
  for (const file of ['data-source', 'app.module']) {
    const source = readFileSync(path.join(built, `${file}.ts`), 'utf8');
    const imported = type === 'es6' ? source.replace("'./data-source'", "'./data-source.js'") : source;
    writeFileSync(path.join(folder, `${file}.js`), compiled(imported, type));
  }
  return folder;
}

describe('the how-to page on deploys', () => {
  const suite = workflowSuite();
  const asked: string[] = [];
  const shop = {
    capture: async () => ({ id: 'ch_1' }),
    remind: async () => void asked.push('remind'),
    askForReview: async () => void asked.push('review'),
  };

  beforeAll(ensureBuilt, BUILD_MS);

  const boot = (release: string) =>
    suite.boot([page(`${release}/order.workflow.ts`).OrderWorkflow, { provide: page('shop.ts').Shop, useValue: shop }]);
  const check = (app: string) => cli(['check'], { app, env: { DATABASE_URL: suite.database.url } });

  test('CLI-07 CLI-08 REN-03 REN-08 a step is removed by its gravestone and another one added, with a run in flight, while both releases are there', async () => {
    const old = await boot('release-1');
    const run = await old.workflows.start(page('release-1/order.workflow.ts').OrderWorkflow, { args: { order: '7' } });
    await suite.eventually(async () => (await run.reload()).currentStep === 'remind', 'it stands on the step');
    const [bare, second] = [
      build('release-bare', (code) => code.replace(/@RemovedStep\(\) remind.*/, ''), 'release-2'),
      build('release-2'),
    ];

    const refused = await check(bare);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain(pageBlock(PAGE, 'text'));

    const fine = await check(second);
    expect([fine.code, fine.stdout]).toEqual([
      0,
      expect.stringMatching(/\(1 ready\) is at the removed step "remind", and will pass over it/),
    ]);

    const { workflows } = await boot('release-2');
    await old.close();
    const left = await workflows.find(run.id);
    await left.runNow();
    await suite.until(run, 'finished');
    expect((await left.steps()).map(({ stepName, status }) => `${stepName} ${status}`)).toEqual([
      'capture completed',
      'remind skipped',
      'close completed',
      'askForReview completed',
    ]);
    expect(asked).toEqual(['review']);
    expect((await check(second)).stdout).toMatch(/No run of OrderWorkflow stands on the removed step "remind"/);
    expect((await check(bare)).code).toBe(0);
  });

  test('CLI-07 a rollback is checked like a deploy: with the older build, a run on a step that only the newer one has is a finding', async () => {
    const { OrderWorkflow } = page('release-2/order.workflow.ts');
    const { workflows, close } = await suite.boot(
      [OrderWorkflow, { provide: page('shop.ts').Shop, useValue: { ...shop, askForReview: async () => Promise.reject(new Error('no mail')) } }],
    ); // prettier-ignore
    const run = await workflows.start(OrderWorkflow, { args: { order: '8' } });
    await suite.until(run, 'paused');
    await close();
    const back = await check(build('release-1'));
    expect([back.code, back.stdout]).toEqual([1, expect.stringMatching(/1 paused\) is at step "askForReview"/)]);
  });

  test.each(['commonjs', 'es6'] as const)(
    "CLI-09 UPG-01 TypeORM's command line migrates by the data source that the application takes its options from: %s",
    async (type) => {
      const server = process.env.WORKFLOWS_TEST_DATABASE_URL!;
      const name = `${suite.database.name}_${type}`;
      await withClient(server, (client) => client.query(`create database ${name}`));
      try {
        const cwd = buildMigrating(type);
        const env = { DATABASE_URL: urlOf(server, name) };
        const migrate = () => cli(['migration:run', '-d', 'data-source.js'], { bin: TYPEORM, app: null, cwd, env });
        const checked = () => cli(['check'], { app: path.join(cwd, 'app.module.js'), env });

        expect((await checked()).code).toBe(1);
        const first = await migrate();
        expect([first.code, first.stdout]).toEqual([
          0,
          expect.stringMatching(/NumberWorkflowSchema\d+ has been executed/),
        ]);
        expect((await checked()).stdout).toMatch(/^✓ .*goes with what is in flight/);
        expect((await migrate()).stdout).toMatch(/No migrations are pending/);
      } finally {
        await dropDatabase(server, name);
      }
    },
  );
});
