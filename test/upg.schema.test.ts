import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Logger } from '@nestjs/common';
import { InvalidTransitionError, WorkflowSchemaError, type WorkflowHandle } from 'nestjs-pg-workflows';
import { DataSource, type QueryRunner } from 'typeorm';
import { MARKS, SCHEMA, SCHEMA_MIGRATIONS, schemaNumberOf } from '../libs/workflow/src/store/schema-version';
import { WorkflowMigrations } from '../migrations';
import { MARKING_COLUMNS } from '../migrations/own-tables';
import { createTestDatabase, type TestDatabase } from './support/database';
import { isRecorded, record, restore } from './support/earlier-schema';
import { ERRANDS, Parcel } from './support/errands.mjs';
import { brokenInvariants } from './support/invariants';
import { leaveInProgress } from './support/lost-worker';
import { refusedBoot } from './support/refused-boot';
import { workflowSuite } from './support/suite';

const [Errand, Distribution, , Legacy] = ERRANDS.old;
const EARLIER = SCHEMA_MIGRATIONS.slice(0, -1).map((_, index) => index + 1);

/**
 * Of what each released migration does, in order. A migration that was released does not change any more: add another one, and its digest here, and record
 * the schema before it (`RECORD_SCHEMA=<its number> npx jest --selectProjects=pg --testPathPatterns upg.schema`).
 */
const DIGESTS = ['df9c845dded51a93', 'bf1502eca87fe02b'];

/** The run moved on by itself in between. */
function tooLate(error: unknown): false {
  if (error instanceof InvalidTransitionError) return false;
  throw error;
}

describe('upgrading', () => {
  const suite = workflowSuite();
  const opened: { database: TestDatabase; source: DataSource }[] = [];

  afterEach(async () => {
    // Applications on a test's own databases are closed first.
    await Promise.all(closing.splice(0).map((close) => close()));
    for (const { database, source } of opened.splice(0)) {
      await source.destroy();
      await database.drop();
    }
  });
  const closing: (() => Promise<void>)[] = [];

  /** A database whose tables have that schema. */
  async function databaseOf(schema: number) {
    const database = await createTestDatabase();
    const source = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [...WorkflowMigrations],
    }).initialize();
    opened.push({ database, source });
    for (let at = SCHEMA; at > schema; at--) await source.undoLastMigration();
    return { database, source, sql: source.query.bind(source) as typeof suite.sql };
  }

  async function boot(url: string, settings: object = {}) {
    const app = await suite.boot(ERRANDS.old, { dataSource: { url }, ...settings });
    closing.push(app.close);
    return app;
  }

  const mark = (sql: typeof suite.sql, schema: number, forVersionsOf: number) =>
    sql(
      `comment on table workflows is 'nestjs-pg-workflows: schema ${schema}, for versions that know schema ${forVersionsOf}'`,
    );

  test('UPG-04 the package knows its migrations, each marks the tables with its number, and none that was released has changed', async () => {
    expect(WorkflowMigrations.map((Migration) => new Migration().name)).toEqual([...SCHEMA_MIGRATIONS]);
    expect(Object.values(MARKING_COLUMNS)).toEqual(MARKS.map(({ columns }) => columns));
    const digests: string[] = [];
    for (const Migration of WorkflowMigrations) {
      const statements: string[] = [];
      const recorder = {
        connection: { options: {} },
        query: async (sql: string) => {
          // What they look at first is no part of what they do.
          if (!/^\s*select/.test(sql)) statements.push(sql.replace(/\s+/g, ' ').trim());
          return [];
        },
      };
      await new Migration().up(recorder as unknown as QueryRunner);
      digests.push(createHash('sha256').update(statements.join(';\n')).digest('hex').slice(0, 16));
    }
    expect(digests).toEqual(DIGESTS);

    const { source, sql } = await databaseOf(0);
    for (const [index] of WorkflowMigrations.entries()) {
      const upTo = new DataSource({
        ...source.options,
        migrations: WorkflowMigrations.slice(0, index + 1),
      });
      await upTo.initialize();
      await upTo.runMigrations();
      await upTo.destroy();
      const [row] = await sql<{ comment: string | null }>(`select obj_description('workflows'::regclass) as comment`);
      expect(schemaNumberOf(row.comment)?.schema ?? 1).toBe(index + 1);
    }
  });

  test.each([0, ...EARLIER])(
    'UPG-01 on schema %s the boot names the migrations that have not run, and how to run them; it creates nothing',
    async (schema) => {
      const { database, sql } = await databaseOf(schema);
      const tables = () => sql(`select relname from pg_class where relname like 'workflow%' order by 1`);
      const before = await tables();
      const error = await refusedBoot({ url: database.url, providers: ERRANDS.old });
      expect(error).toBeInstanceOf(WorkflowSchemaError);
      for (const name of SCHEMA_MIGRATIONS.slice(schema)) expect(error.message).toContain(name);
      for (const name of SCHEMA_MIGRATIONS.slice(0, schema)) expect(error.message).not.toContain(name);
      expect(error.message).toMatch(
        schema > 0 ? `the tables have schema ${schema}, this version needs ${SCHEMA}` : 'Missing: table "workflows"',
      );
      expect(error.message).toMatch(/"npx typeorm migration:run -d <your data source>".*"migrationsRun: true"/);
      expect(await tables()).toEqual(before);
    },
  );

  test('UPG-02 on tables that were migrated for a newer version a process boots and works, with a warning, when they say that it can, and refuses when not', async () => {
    const { database, sql } = await databaseOf(SCHEMA);
    await mark(sql, SCHEMA + 2, SCHEMA);
    await sql(
      `alter table workflows add column colour text not null default 'blue'; create table workflow_colours (id int)`,
    );
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    try {
      const { workflows } = await boot(database.url);
      expect(warn.mock.calls.map(([text]) => String(text))).toContainEqual(
        expect.stringMatching(
          new RegExp(`have schema ${SCHEMA + 2}, made for a newer version.*knows schema ${SCHEMA}, and works on them`),
        ),
      );
      const run = await workflows.start(Errand, { subject: new Parcel('1') });
      await suite.eventually(async () => (await run.reload()).status === 'waiting', 'it waits');
      await run.signal('confirmed');
      await suite.eventually(async () => (await run.reload()).currentStep === 'rest', 'it has gone on');
    } finally {
      warn.mockRestore();
    }

    await mark(sql, SCHEMA + 2, SCHEMA + 1);
    const error = await refusedBoot({ url: database.url, providers: ERRANDS.old });
    expect(error).toBeInstanceOf(WorkflowSchemaError);
    expect(error.message).toMatch(
      new RegExp(
        `have schema ${SCHEMA + 2}, which .* that know schema ${SCHEMA + 1} or a later one; this version knows schema ${SCHEMA}`,
      ),
    );
  });

  test('UPG-03 tables that were dropped in part are not taken for older ones', async () => {
    const { database, sql } = await databaseOf(SCHEMA);
    await sql('alter table workflow_steps drop column wait_for');
    const error = await refusedBoot({ url: database.url, providers: ERRANDS.old });
    expect(error).toBeInstanceOf(WorkflowSchemaError);
    expect(error.message).toMatch(/not whole\. Missing: in "workflow_steps" the columns wait_for\. .*Restore it/);
    expect(error.message).not.toMatch(/migration:run/);
  });

  const FOREIGN =
    /There is a table "?workflows"? that is not nestjs-pg-workflows's.* Rename it, or give .* "schema" of their own/;

  test("UPG-07 an application's own table of one of their names is left alone: migrations and boot refuse, and say why; going back drops ours alone", async () => {
    const { database, source, sql } = await databaseOf(0);
    await sql(`create table workflows (id serial primary key, name text); insert into workflows (name) values ('onboarding');
      comment on table workflows is 'of the customers'`);
    const theirs = () =>
      sql(`select obj_description('workflows'::regclass) as comment, (select json_agg(w) from workflows w) as rows`);
    const before = await theirs();
    await expect(source.runMigrations()).rejects.toThrow(FOREIGN);
    const error = await refusedBoot({ url: database.url, providers: ERRANDS.old });
    expect(error).toBeInstanceOf(WorkflowSchemaError);
    expect(error.message).toMatch(FOREIGN);
    expect(error.message).not.toMatch(/backup|migration:run/);
    const runner = source.createQueryRunner();
    await expect(new WorkflowMigrations[1]().up(runner)).rejects.toThrow(FOREIGN);
    for (const Migration of WorkflowMigrations.toReversed()) await new Migration().down(runner);
    expect(await theirs()).toEqual(before);
    expect(await sql(`select relname from pg_class where relname like 'workflow\\_%'`)).toEqual([]);

    // Renamed, there is room for ours; of ours one is gone, and of theirs one has come into its place.
    await sql('alter table workflows rename to customer_workflows');
    await source.runMigrations();
    await sql('drop table workflow_events; create table workflow_events (id int)');
    for (const Migration of WorkflowMigrations.toReversed()) await new Migration().down(runner);
    await runner.release();
    expect(
      await sql(`select relname from pg_class where relname like '%workflow%' and relkind = 'r' order by 1`),
    ).toEqual([{ relname: 'customer_workflows' }, { relname: 'workflow_events' }]);
  });

  test('UPG-07 where ours are there in part, the migration says which are missing, and makes nothing', async () => {
    const { source, sql } = await databaseOf(SCHEMA);
    await sql('drop table workflow_signals; drop table migrations');
    await expect(source.runMigrations()).rejects.toThrow(
      /workflow_events, workflow_steps, workflows are there, and workflow_signals not: .*Restore it from a backup/,
    );
    expect(await sql(`select to_regclass('workflow_signals') as signals`)).toEqual([{ signals: null }]);
  });

  test("UPG-04 the mark goes below somebody else's comment, and leaves it as it was", async () => {
    const { source, sql } = await databaseOf(SCHEMA - 1);
    const comment = async () => (await sql(`select obj_description('workflows'::regclass) as comment`))[0];
    const theirs = String.raw`Ada's: ask C:\team first`;
    await sql(`comment on table workflows is E'Ada''s: ask C:\\\\team first'`);
    expect(await comment()).toEqual({ comment: theirs });
    await source.runMigrations();
    expect(await comment()).toEqual({
      comment: `${theirs}\nnestjs-pg-workflows: schema ${SCHEMA}, for versions that know schema 1`,
    });
    await source.undoLastMigration();
    expect(await comment()).toEqual({ comment: theirs });
  });

  test('UPG-08 a unique index that promises rest on is gone or invalid: the boot names it, and what to do; made again as the page says, it boots', async () => {
    const { database, sql } = await databaseOf(SCHEMA);
    const indexes = MARKS.flatMap(({ uniqueIndexes }) => uniqueIndexes);
    const page = readFileSync(path.join(__dirname, '../docs/upgrading.md'), 'utf8');
    const remade = new Map(
      indexes.map((name) => [name, new RegExp(`^[^;\n]*\\b${name}\\b[^;]*;`, 'm').exec(page)?.[0]]),
    );
    const shape = () =>
      sql(
        `select indexdef from pg_indexes where indexname = any($1) union all select conname from pg_constraint where conname = any($1) order by 1`,
        [indexes],
      );
    const before = await shape();
    await sql(`drop index workflows_one_ongoing, workflows_idempotency_key, workflow_steps_one_open;
      alter table workflow_steps drop constraint workflow_steps_one_attempt; alter table workflow_signals drop constraint workflow_signals_one_delivery`);
    const error = await refusedBoot({ url: database.url, providers: ERRANDS.old });
    expect(error).toBeInstanceOf(WorkflowSchemaError);
    for (const name of indexes) expect(error.message).toContain(name);
    expect(error.message).toMatch(/docs\/upgrading\.md has the statements that create them again/);

    for (const name of indexes) await sql(remade.get(name)!);
    expect(await shape()).toEqual(before);
    await sql(`update pg_index set indisvalid = false where indexrelid = 'workflows_one_ongoing'::regclass`);
    expect((await refusedBoot({ url: database.url, providers: ERRANDS.old })).message).toContain(
      'the unique index workflows_one_ongoing.',
    );
    await sql('reindex index workflows_one_ongoing');
    await boot(database.url);
  });

  if (process.env.RECORD_SCHEMA) {
    test('records runs in flight, in every manner, as the fixture of that schema', async () => {
      const schema = Number(process.env.RECORD_SCHEMA);
      const { database, source, sql } = await databaseOf(SCHEMA);
      const { workflows, close } = await boot(database.url);
      const start = (id: string, args = {}, by = workflows) => by.start(Errand, { subject: new Parcel(id), args });
      const reaches = (run: WorkflowHandle, status: string, step: string) =>
        suite.eventually(async () => {
          await run.reload();
          return run.status === status && run.currentStep === step;
        }, `it is ${status} at ${step}`);
      const [waits, failed, rests] = [await start('1'), await start('2', { fails: true }), await start('3')];
      for (const run of [waits, failed, rests]) await reaches(run, 'waiting', 'confirm');
      for (const run of [failed, rests]) await run.signal('confirmed', { by: 'Ada' }, { idempotencyKey: 'evt-1' });
      await reaches(failed, 'paused', 'deliver');
      await reaches(rests, 'ready', 'rest');
      await reaches(await workflows.start(Distribution), 'waiting', 'handOut');
      await reaches(await workflows.start(Legacy), 'waiting', 'stay');
      await close();
      const idle = await boot(database.url, { worker: false });
      await leaveInProgress(sql, await start('4', {}, idle.workflows));
      await start('5', {}, idle.workflows);
      await idle.close();
      for (let at = SCHEMA; at > schema; at--) await source.undoLastMigration();
      await record(source, schema);
      expect(isRecorded(schema)).toBe(true);
    });
  }

  test.each(EARLIER)(
    'UPG-05 from schema %s, with runs in flight, the migrations lead to the newest; no row is lost, and every run goes on to its end',
    async (schema) => {
      expect(isRecorded(schema)).toBe(true);
      const { database, source, sql } = await databaseOf(schema);
      const recorded = await restore(source, schema);
      await source.runMigrations();
      for (const [table, rows] of Object.entries(recorded)) {
        const found = await sql<{ row: object }>(
          `select row_to_json(t) as row from ${table} t order by created_at, id`,
        );
        expect(found.map(({ row }) => row)).toEqual(rows.map((row) => expect.objectContaining(row)));
      }

      const { workflows } = await boot(database.url, { stallAction: 'reattempt', worker: { lease: '1s' } });
      const runs = recorded.workflows.map(({ id }) => String(id));
      const at = async (id: string) => {
        const run = await workflows.find(id);
        return `${run.workflowName} ${run.status} ${run.currentStep}`;
      };
      /** What a person, a sender and the passing of time would do. */
      const push = async (id: string): Promise<boolean> => {
        const run = await workflows.find(id);
        if (run.status === 'paused') await run.resume();
        if (run.status === 'waiting' && run.currentStep === 'confirm') await run.signal('confirmed');
        if (run.status === 'waiting' && run.currentStep === 'stay') await run.signal('go');
        if (run.status === 'ready' && run.currentStep === 'rest') await run.runNow();
        await sql(`update workflow_steps set available_at = statement_timestamp() where workflow_id = $1 and parent_step_id is not null
          and status = 'scheduled'`, [id]); // prettier-ignore
        return run.status === 'finished';
      };
      await suite
        .eventually(
          async () => (await Promise.all(runs.map((id) => push(id).catch(tooLate)))).every(Boolean),
          'all runs have finished',
        )
        .catch(async (error: Error) => {
          error.message += `: ${(await Promise.all(runs.map(at))).join('; ')}`;
          throw error;
        });
      expect(await brokenInvariants(source)).toEqual([]);
    },
  );

  test('UPG-06 going back, down takes the tables to the schema before, and keeps the runs in flight', async () => {
    const { source, sql } = await databaseOf(SCHEMA);
    const recorded = await restore(source, EARLIER.at(-1)!);
    await source.undoLastMigration();
    const [row] = await sql<{ comment: string | null; runs: number }>(
      `select obj_description('workflows'::regclass) as comment, (select count(*)::int from workflows) as runs`,
    );
    expect(schemaNumberOf(row.comment)?.schema ?? 1).toBe(SCHEMA - 1);
    expect(row.runs).toBe(recorded.workflows.length);
    await source.runMigrations();
    expect(await sql('select count(*)::int as runs from workflows')).toEqual([{ runs: recorded.workflows.length }]);
  });
});
