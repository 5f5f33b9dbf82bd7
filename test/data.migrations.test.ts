import { DataSource } from 'typeorm';
import { WorkflowEntities } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from '../migrations';
import { createTestDatabase, type TestDatabase } from './support/database';
import { withClient } from './support/database-names';

const TABLES = ['workflow_events', 'workflow_signals', 'workflow_steps', 'workflows'];

describe('the migrations', () => {
  const databases: TestDatabase[] = [];
  const open: DataSource[] = [];

  /** A database with nothing in it but empty schemas. */
  async function emptyDatabase(...schemas: string[]): Promise<string> {
    const database = await createTestDatabase();
    databases.push(database);
    await withClient(database.url, async (client) => {
      await client.query('drop schema public cascade; create schema public');
      for (const schema of schemas) await client.query(`create schema ${client.escapeIdentifier(schema)}`);
    });
    return database.url;
  }

  async function connect(url: string, schema?: string): Promise<DataSource> {
    const dataSource = await new DataSource({
      type: 'postgres',
      url,
      ...(schema !== undefined && { schema }),
      entities: [...WorkflowEntities],
      migrations: [...WorkflowMigrations],
    }).initialize();
    open.push(dataSource);
    return dataSource;
  }

  const tablesIn = async (dataSource: DataSource, schema: string) =>
    (
      await dataSource.query<{ name: string }[]>(
        `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r' order by relname`,
        [JSON.stringify(schema)],
      )
    ).map(({ name }) => name);

  /** Tables, columns, indexes and constraints, as the database has them. */
  const shapeOf = (dataSource: DataSource, schema: string) =>
    dataSource.query<{ what: string }[]>(
      `select format('%s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity) as what
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = $1::regnamespace and c.relkind = 'r' and c.relname like 'workflow%'
       union all select replace(pg_get_indexdef(i.oid), format('%I.', $2::text), '') from pg_class i
       where i.relnamespace = $1::regnamespace and i.relkind = 'i' and i.relname like 'workflow%'
       union all select format('%s %s', k.conname, replace(pg_get_constraintdef(k.oid), format('%I.', $2::text), ''))
       from pg_constraint k where k.connamespace = $1::regnamespace and k.conname like 'workflow%'
       order by 1`,
      [JSON.stringify(schema), schema],
    );

  afterEach(async () => {
    for (const dataSource of open.splice(0)) await dataSource.destroy();
    for (const database of databases.splice(0)) await database.drop();
  });

  test('DATA-01 create everything on an empty database', async () => {
    const dataSource = await connect(await emptyDatabase());
    expect(await dataSource.runMigrations()).toHaveLength(WorkflowMigrations.length);
    expect(await tablesIn(dataSource, 'public')).toEqual(['migrations', ...TABLES]);
    const indexes = await dataSource.query<{ name: string }[]>(
      `select indexname as name from pg_indexes where schemaname = 'public' and tablename like 'workflow%' order by 1`,
    );
    expect(indexes.map(({ name }) => name)).toEqual([
      'workflow_events_pkey',
      'workflow_signals_one_delivery',
      'workflow_signals_pending',
      'workflow_signals_pkey',
      'workflow_steps_batches',
      'workflow_steps_claim',
      'workflow_steps_due_to_join',
      'workflow_steps_in_progress',
      'workflow_steps_one_attempt',
      'workflow_steps_one_open',
      'workflow_steps_open_members',
      'workflow_steps_pkey',
      'workflow_steps_unbounded_waits',
      'workflow_steps_wait_deadline',
      'workflow_steps_waiting',
      'workflows_ended',
      'workflows_idempotency_key',
      'workflows_newest',
      'workflows_one_ongoing',
      'workflows_ongoing',
      'workflows_paused',
      'workflows_pkey',
    ]);
    // What the entities read is there, under their names and with their types.
    for (const entity of WorkflowEntities) expect(await dataSource.getRepository(entity as any).find()).toEqual([]);
  });

  test.each(['public', 'flows', 'My Flows'])(
    'DATA-01 running them twice changes nothing, in the schema %s',
    async (schema) => {
      const dataSource = await connect(await emptyDatabase(...(schema === 'public' ? [] : [schema])), schema);
      await dataSource.runMigrations();
      const shape = await shapeOf(dataSource, schema);
      expect(await dataSource.runMigrations()).toEqual([]);
      // Also where somebody's list of migrations was lost.
      const runner = dataSource.createQueryRunner();
      try {
        for (const Migration of WorkflowMigrations) await new Migration().up(runner);
      } finally {
        await runner.release();
      }
      expect(await shapeOf(dataSource, schema)).toEqual(shape);
      expect(shape.length).toBeGreaterThan(100);
    },
  );

  test('DATA-01 down removes what up created, and nothing else; up brings it back', async () => {
    const dataSource = await connect(await emptyDatabase());
    await dataSource.query('create table orders (id int)');
    await dataSource.runMigrations();
    const shape = await shapeOf(dataSource, 'public');
    for (const _ of WorkflowMigrations) await dataSource.undoLastMigration();
    expect(await tablesIn(dataSource, 'public')).toEqual(['migrations', 'orders']);
    expect(await shapeOf(dataSource, 'public')).toEqual([]);
    await dataSource.runMigrations();
    expect(await shapeOf(dataSource, 'public')).toEqual(shape);
  });

  test("DATA-01 the DataSource's schema is respected, up and down, beside the same tables in another one", async () => {
    const url = await emptyDatabase('flows');
    const [there, here] = [await connect(url, 'flows'), await connect(url)];
    await there.runMigrations();
    expect(await tablesIn(there, 'flows')).toEqual(['migrations', ...TABLES]);
    expect(await tablesIn(there, 'public')).toEqual([]);

    await here.runMigrations();
    expect(await tablesIn(here, 'public')).toEqual(['migrations', ...TABLES]);
    expect(await shapeOf(here, 'public')).toEqual(await shapeOf(there, 'flows'));
    for (const entity of WorkflowEntities) expect(await there.getRepository(entity as any).find()).toEqual([]);

    for (const _ of WorkflowMigrations) await there.undoLastMigration();
    expect(await tablesIn(there, 'flows')).toEqual(['migrations']);
    expect(await tablesIn(here, 'public')).toEqual(['migrations', ...TABLES]);
  });
});
