import { Test } from '@nestjs/testing';
import { TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import {
  CancelIf,
  Step,
  Workflow,
  WorkflowConfigurationError,
  WorkflowModule,
  WorkflowOf,
  WorkflowService,
  type Ctx,
  type WorkflowHandle,
  type WorkflowModuleOptions,
} from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { createTestDatabase, type TestDatabase } from './support/database';
import { brokenInvariants } from './support/invariants';
import { workflowSuite } from './support/suite';

@Entity({ name: 'invoices', synchronize: false })
class Invoice {
  @PrimaryColumn({ type: 'int' })
  id!: number;

  @Column({ type: 'text' })
  total!: string;
}

const seen: (string | null)[] = [];

/** Written for a subject that may not be there yet. */
@Workflow({ subject: Invoice })
class Patient extends WorkflowOf<Invoice, { note?: unknown }> {
  @Step()
  async bill(ctx: Ctx<this>) {
    seen.push(ctx.subject?.total ?? null);
    if (!ctx.subject) ctx.reattempt({ wait: 20 });
  }
}

@Workflow({ subject: Invoice })
class Hasty extends WorkflowOf<Invoice> {
  @CancelIf()
  gone({ subject }: Ctx<this>) {
    return subject === null;
  }

  @Step()
  async bill() {}
}

describe('workflow tables apart from the application', () => {
  const suite = workflowSuite();
  let apart: TestDatabase;
  let tables: DataSource;
  const apps: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    apart = await createTestDatabase();
    tables = await new DataSource({ type: 'postgres', url: apart.url }).initialize();
    await suite.sql('create table invoices (id int primary key, total text not null)');
  });

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    const broken = await brokenInvariants(tables);
    const strays = await suite.sql('select id from workflows');
    if (broken.length || strays.length) throw new Error(JSON.stringify({ broken, strays }));
  });

  afterAll(async () => {
    await tables?.destroy();
    await apart?.drop();
  });

  /** Subjects on the suite's database, workflows on the other one. */
  async function bootApart(options: WorkflowModuleOptions = {}) {
    seen.length = 0;
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: suite.database.url, entities: [Invoice], retryAttempts: 0 }),
        TypeOrmModule.forRoot({
          name: 'flows',
          type: 'postgres',
          url: apart.url,
          autoLoadEntities: true,
          retryAttempts: 0,
        }),
        WorkflowModule.forRoot({ connection: 'flows', worker: { pollInterval: 50 }, ...options }),
      ],
      providers: [Patient, Hasty],
    }).compile();
    const app = await module.init();
    apps.push(app);
    return {
      workflows: app.get(WorkflowService),
      subjects: app.get(DataSource),
      flows: app.get<DataSource>(getDataSourceToken('flows')),
    };
  }

  const statusOf = async ({ id }: WorkflowHandle) =>
    (await tables.query<{ status: string }[]>('select status from workflows where id = $1', [id]))[0]?.status;
  const ends = (run: WorkflowHandle, status: string) =>
    suite.eventually(async () => (await statusOf(run)) === status, `${run.id} is ${status}`);

  test("STA-18 the run commits on its own and is run before the caller's transaction on the other database commits", async () => {
    const { workflows, subjects } = await bootApart();
    const { run, hasty } = await subjects.transaction(async (manager) => {
      const invoice = await manager.save(manager.create(Invoice, { id: 1, total: '7.00' }));
      const started = await workflows.start(Patient, { subject: invoice, args: {} });
      await suite.eventually(() => seen.length > 1, 'the first step was tried again');
      expect(await statusOf(started)).toMatch(/ready|performing/);
      // A cancel guard on null ends the run instead.
      const cancelled = await workflows.start(Hasty, { subject: invoice });
      await ends(cancelled, 'cancelled');
      return { run: started, hasty: cancelled };
    });
    await ends(run, 'finished');
    expect(seen.at(-1)).toBe('7.00');
    expect(new Set(seen.slice(0, -1))).toEqual(new Set([null]));
    const attempts = await run.steps();
    expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, index) => index + 1));
    expect(attempts.at(-1)).toMatchObject({ status: 'completed', outcome: 'completed' });
    expect(attempts[0]).toMatchObject({ status: 'failed', outcome: 'reattempted' });
    expect((await hasty.reload()).status).toBe('cancelled');
  });

  test('STA-18 the run stays though that transaction rolls back', async () => {
    const { workflows, subjects } = await bootApart();
    let run: WorkflowHandle | undefined;
    await subjects
      .transaction(async (manager) => {
        const invoice = await manager.save(manager.create(Invoice, { id: 2, total: '8.00' }));
        run = await workflows.start(Patient, { subject: invoice, args: {} });
        throw new Error('undone');
      })
      .catch(() => undefined);
    await suite.eventually(() => seen.length > 0, 'the first step ran');
    expect(seen[0]).toBeNull();
    await suite.sql(`insert into invoices values (2, '9.00')`);
    await ends(run!, 'finished');
    expect(seen.at(-1)).toBe('9.00');
  });

  test('STA-18 a manager of the workflow tables DataSource is joined, one of the other is refused', async () => {
    const { workflows, subjects, flows } = await bootApart();
    await suite.sql(`insert into invoices values (3, '3.00')`);
    const invoice = await subjects.getRepository(Invoice).findOneByOrFail({ id: 3 });
    await subjects.transaction(async (manager) => {
      await expect(workflows.start(Patient, { subject: invoice, args: {}, manager })).rejects.toThrow(
        WorkflowConfigurationError,
      );
    });
    const run = await flows.transaction(async (manager) => {
      const started = await workflows.start(Patient, { subject: invoice, args: { note: invoice }, manager });
      expect(await statusOf(started)).toBeUndefined();
      return started;
    });
    await ends(run, 'finished');
    expect(seen).toEqual(['3.00']);
  });

  test('DATA-01 a schema of the DataSource is respected: migrations create the tables there, and runs are run from there', async () => {
    const url = suite.database.url;
    await suite.sql('create schema "my flows"');
    const options = {
      type: 'postgres' as const,
      url,
      schema: 'my flows',
      migrations: [...WorkflowMigrations],
      migrationsTableName: 'flow_migrations',
    };
    const found = () =>
      suite.sql<{ table: string }>(
        `select table_name as table from information_schema.tables where table_schema = 'my flows' and table_name like 'workflow%' order by 1`,
      );
    const indexes = () =>
      suite.sql(
        `select indexname from pg_indexes where schemaname = 'my flows' and indexname like 'workflow%' order by 1`,
      );
    const names = ['workflow_events', 'workflow_signals', 'workflow_steps', 'workflows'];

    const migrated = await new DataSource(options).initialize();
    expect(await migrated.runMigrations()).toHaveLength(WorkflowMigrations.length);
    expect((await found()).map(({ table }) => table)).toEqual(names);
    const before = await indexes();
    expect(before.length).toBeGreaterThan(10);
    expect(await migrated.runMigrations()).toEqual([]);
    // Also where the table of migrations was lost.
    const queryRunner = migrated.createQueryRunner();
    for (const Migration of WorkflowMigrations) await new Migration().up(queryRunner);
    await queryRunner.release();
    expect(await indexes()).toEqual(before);

    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ ...options, autoLoadEntities: true, entities: [], retryAttempts: 0 }),
        WorkflowModule.forRoot({ worker: { pollInterval: 50 } }),
      ],
      providers: [Patient],
    }).compile();
    const app = await module.init();
    apps.push(app);
    const workflows = app.get(WorkflowService);
    const run = await workflows.start(Patient, { args: {} }).then((one) => one.pause());
    await run.resume();
    await suite.eventually(async () => (await run.reload()).status === 'ready' && seen.length > 0, 'it is tried again');
    await run.cancel();
    expect(await suite.sql('select id::text, status from "my flows".workflows')).toEqual([
      { id: run.id, status: 'cancelled' },
    ]);
    expect(await workflows.findOngoing(Patient, { id: 1 }).catch((error: Error) => error.name)).toBe(
      'UnserializableValueError',
    );
    expect((await run.steps()).length).toBeGreaterThan(0);
    await Promise.all(apps.splice(0).map((one) => one.close()));

    for (const _ of WorkflowMigrations) await migrated.undoLastMigration();
    expect(await found()).toEqual([]);
    expect(await suite.sql(`select to_regclass('public.workflows') is not null as untouched`)).toEqual([
      { untouched: true },
    ]);
    await migrated.destroy();
  });
});
