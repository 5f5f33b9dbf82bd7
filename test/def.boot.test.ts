import { Injectable, Logger, Module, Scope } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Step,
  SubjectLoader,
  Workflow,
  WorkflowConfigurationError,
  WorkflowDefinitionError,
  WorkflowEntities,
  WorkflowJob,
  WorkflowModule,
  WorkflowOf,
  WorkflowSchemaError,
  WorkflowService,
  type WorkflowModuleOptions,
} from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from './support/database';
import { refusedBoot } from './support/refused-boot';
import { workflowSuite } from './support/suite';

const ran: string[] = [];

@Workflow()
class Greeting extends WorkflowOf {
  @Step()
  async greet() {
    ran.push('greet');
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestBound {}

@Injectable({ scope: Scope.REQUEST })
@Workflow()
class PerRequest extends WorkflowOf {
  @Step()
  async one() {}
}

@Injectable({ scope: Scope.TRANSIENT })
@Workflow()
class PerUse extends WorkflowOf {
  @Step()
  async one() {}
}

@Injectable()
class BetweenThem {
  constructor(readonly bound: RequestBound) {}
}

@Workflow()
class NeedsRequest extends WorkflowOf {
  constructor(readonly between: BetweenThem) {
    super();
  }

  @Step()
  async one() {}
}

@Injectable({ scope: Scope.REQUEST })
@WorkflowJob()
class JobPerRequest {
  async perform() {}
}

class Thing {}

@Injectable({ scope: Scope.TRANSIENT })
@SubjectLoader(Thing)
class LoaderPerUse {
  async load() {
    return null;
  }
}

describe('booting', () => {
  const suite = workflowSuite();
  const refused = (metadata: Omit<Parameters<typeof refusedBoot>[0], 'url'>) =>
    refusedBoot({ url: suite.database.url, ...metadata });

  beforeEach(async () => {
    ran.length = 0;
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('DEF-19 workflow classes are found by their decorators, in any module', async () => {
    @Workflow()
    class Inner extends WorkflowOf {
      @Step()
      async inside() {
        ran.push('inside');
      }
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    @Module({ imports: [InnerModule] })
    class OuterModule {}
    const { workflows } = await suite.boot([Greeting], { imports: [OuterModule] });
    await suite.until(await workflows.start(Inner), 'finished');
    await suite.until(await workflows.start(Greeting), 'finished');
    expect(ran).toEqual(['inside', 'greet']);
  });

  test('DEF-19 two classes of one name fail the boot, as does one with steps and no @Workflow()', async () => {
    @Workflow({ name: 'Greeting' })
    class Welcome extends WorkflowOf {
      @Step()
      async welcome() {}
    }
    class Forgotten extends WorkflowOf {
      @Step()
      async one() {}
    }
    const twice = await refused({ providers: [Greeting, Welcome] });
    expect(twice).toBeInstanceOf(WorkflowDefinitionError);
    expect(twice.message).toMatch(/"Greeting": Greeting and Welcome.*@Workflow\(\{ name \}\)/);
    const undecorated = await refused({ providers: [Forgotten] });
    expect(undecorated).toBeInstanceOf(WorkflowDefinitionError);
    expect(undecorated.message).toMatch(/Forgotten has steps but no @Workflow\(\)/);
  });

  test('DEF-19 a class without a step is refused as it loads', () => {
    expect(() => {
      @Workflow()
      class Empty extends WorkflowOf {}
      return Empty;
    }).toThrow(WorkflowDefinitionError);
  });

  test('DEF-20 a wrong setting fails the boot, by forRoot, forRootAsync, and beside the pool that it has to fit', async () => {
    expect(() => WorkflowModule.forRoot({ stallAction: 'explode' as never })).toThrow(WorkflowConfigurationError);
    for (const given of [{ stallAction: 'explode' }, { colour: 1 }, undefined, null, 'text']) {
      const error = await refused({
        options: null,
        imports: [WorkflowModule.forRootAsync({ useFactory: () => given as never })],
      });
      expect(error).toBeInstanceOf(WorkflowConfigurationError);
    }
    for (const [connections, poolSize] of [
      [4, 4],
      [undefined, 1],
      [10, undefined],
    ] as const) {
      // prettier-ignore
      const error = await refused({
        options: { worker: { ...(connections && { connections }) } },
        dataSource: { ...(poolSize && { poolSize }) },
      });
      expect(error).toBeInstanceOf(WorkflowConfigurationError);
      expect(error.message).toMatch(/"worker\.connections" is \d+, and the DataSource's pool has \d+; allowed: fewer/);
    }
  });

  test('DEF-20 a DataSource that does not know the entities is told how it would, and works once it does', async () => {
    const error = await refused({ dataSource: { autoLoadEntities: false } });
    expect(error).toBeInstanceOf(WorkflowConfigurationError);
    expect(error.message).toMatch(/does not know the entity.*autoLoadEntities: true.*WorkflowEntities/);

    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({
          type: 'postgres',
          url: suite.database.url,
          entities: [...WorkflowEntities],
          retryAttempts: 0,
        }),
        WorkflowModule.forRoot(),
      ],
      providers: [Greeting],
    }).compile();
    const app = await module.init();
    await suite.until(await app.get(WorkflowService).start(Greeting), 'finished');
    await app.close();
  });

  test('DEF-20 a DataSource that gives the tables other names is refused, with what to do', async () => {
    const error = await refused({ providers: [Greeting], dataSource: { entityPrefix: 'app_' } });
    expect(error).toBeInstanceOf(WorkflowConfigurationError);
    expect(error.message).toMatch(
      /calls the table workflows "app_workflows", by its "entityPrefix" or "namingStrategy"; .*Take the prefix away/,
    );
  });

  test('DEF-20 an application whose DataSources have names is told to say which one', async () => {
    const boot = Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ name: 'orders', type: 'postgres', url: suite.database.url, autoLoadEntities: true }),
        WorkflowModule.forRoot(),
      ],
      providers: [Greeting],
    }).compile();
    await expect(boot).rejects.toThrow(/finds no DataSource: .*connection: 'orders'/);

    const other = await refused({ providers: [Greeting], options: { connection: 'billing' } });
    expect(other).toBeInstanceOf(WorkflowConfigurationError);
    expect(other.message).toMatch(/"connection" is "billing", and no TypeOrmModule\.forRoot\(\) here has that name/);
  });

  test('DEF-22 worker: false starts and administers runs, and executes nothing', async () => {
    const { workflows, close } = await suite.boot([Greeting], { worker: false });
    const runs = [await workflows.start(Greeting), await workflows.start(Greeting), await workflows.start(Greeting)];
    await runs[0].pause();
    await runs[0].resume();
    await runs[1].runNow();
    await runs[2].cancel();
    expect(await workflows.find(runs[2].id)).toMatchObject({ status: 'cancelled' });
    await close();
    const untouched = await suite.sql(
      `select distinct s.status, s.claim_no, s.worker_id from workflow_steps s where s.status <> 'cancelled'`,
    );
    expect(untouched).toEqual([{ status: 'scheduled', claim_no: 0, worker_id: null }]);
    expect(await suite.sql(`select from workflow_events where name = 'step_started'`)).toEqual([]);
    expect(ran).toEqual([]);

    await suite.boot([Greeting]);
    for (const run of runs.slice(0, 2)) await suite.until(run, 'finished');
    expect(ran).toEqual(['greet', 'greet']);
  });

  test.each([
    ['request-scoped', PerRequest, []],
    ['transient', PerUse, []],
    ['request-scoped', NeedsRequest, [BetweenThem, RequestBound]],
    ['request-scoped', JobPerRequest, []],
    ['transient', LoaderPerUse, []],
  ] as const)('DEF-25 a %s class fails the boot and is told what to do: %p', async (scope, type, others) => {
    const error = await refused({ providers: [type, ...others] });
    expect(error).toBeInstanceOf(WorkflowDefinitionError);
    expect(error.message).toMatch(new RegExp(`${type.name} is ${scope}.*default scope.*ModuleRef`));
  });

  test('DEF-25 a request-scoped factory of a workflow class fails the boot too', async () => {
    const error = await refused({
      providers: [{ provide: Greeting, useFactory: () => new Greeting(), scope: Scope.REQUEST }],
    });
    expect(error).toBeInstanceOf(WorkflowDefinitionError);
    expect(error.message).toMatch(/Greeting is request-scoped/);
  });

  test('DEF-26 a second WorkflowModule.forRoot in one application refuses to boot', async () => {
    @Module({ imports: [WorkflowModule.forRoot({ worker: false })] })
    class Feature {}
    const error = await refused({ imports: [Feature], providers: [Greeting] });
    expect(error).toBeInstanceOf(WorkflowConfigurationError);
    expect(error.message).toMatch(/2 times.*forRoot\(\) once/);
    // The very same module, imported in two places, is one.
    const once = WorkflowModule.forRoot({ worker: false });
    @Module({ imports: [once] })
    class Sharing {}
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: suite.database.url, autoLoadEntities: true, retryAttempts: 0 }),
        once,
        Sharing,
      ],
      providers: [Greeting],
    }).compile();
    await (await module.init()).close();
  });

  test('DEF-27 a class name of one or two letters without name: warns at boot', async () => {
    @Workflow()
    class Wf extends WorkflowOf {
      @Step()
      async one() {}
    }
    @Workflow({ name: 'Xy' })
    class NamedXy extends WorkflowOf {
      @Step()
      async one() {}
    }
    @Workflow()
    class Abc extends WorkflowOf {
      @Step()
      async one() {}
    }
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    try {
      await suite.boot([Wf, NamedXy, Abc], { worker: false });
      const warnings = warn.mock.calls
        .map(([message]) => String(message))
        .filter((text) => text.includes('short name'));
      expect(warnings).toEqual([expect.stringMatching(/"Wf".*minifier.*@Workflow\(\{ name \}\)/)]);
    } finally {
      warn.mockRestore();
    }
  });
});

describe('booting on a database that is not ready', () => {
  let database: TestDatabase;
  let sql: DataSource;

  beforeEach(async () => {
    database = await createTestDatabase();
    sql = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [...WorkflowMigrations],
    }).initialize();
  });

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await sql.destroy();
    await database.drop();
  });

  const suite = workflowSuite();
  const apps: { close(): Promise<void> }[] = [];

  async function boot(worker: WorkflowModuleOptions['worker'] = { pollInterval: 20 }) {
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: database.url, autoLoadEntities: true, retryAttempts: 0 }),
        WorkflowModule.forRoot({ worker }),
      ],
      providers: [Greeting],
    }).compile();
    apps.push(module);
    return module.init();
  }

  test('DEF-23 without the tables the boot fails, names them and the migrations, and creates nothing', async () => {
    for (const _ of WorkflowMigrations) await sql.undoLastMigration();
    const tables = () =>
      sql.query(`select table_name from information_schema.tables where table_schema = 'public' order by 1`);
    const before: unknown = await tables();
    const error = await refusedBoot({ url: database.url, providers: [Greeting] });
    expect(error).toBeInstanceOf(WorkflowSchemaError);
    for (const table of ['workflows', 'workflow_steps', 'workflow_events', 'workflow_signals']) {
      expect(error.message).toContain(`"${table}"`);
    }
    expect(error.message).toMatch(/WorkflowMigrations.*nestjs-pg-workflows\/migrations/);
    expect(await tables()).toEqual(before);

    await sql.runMigrations();
    await (await boot()).close();
  });

  test('DEF-23 AMB-05 a start that meets them missing rejects with the same error', async () => {
    const app = await boot(false);
    const workflows = app.get(WorkflowService);
    await sql.query('drop table workflow_steps cascade');
    for (const start of [workflows.start(Greeting), workflows.startMany(Greeting, [{}, {}])]) {
      await expect(start).rejects.toThrow(WorkflowSchemaError);
      await expect(start).rejects.toThrow(/Missing: table "workflow_steps"/);
    }
    expect(await sql.query('select from workflows')).toEqual([]);
    await app.close();
  });

  test('DEF-24 on an older schema the boot names the table and the columns; once they are there old rows work', async () => {
    const idle = await boot(false);
    const { id: older } = await idle.get(WorkflowService).start(Greeting);
    await idle.close();
    await sql.query('drop table workflow_signals');
    await sql.query(`alter table workflow_steps drop column wait_for, drop column waiting_since, drop column timeout_at, drop column timed_out,
      drop column batch_size, drop column job_name, drop column job_args, drop column job_attempt`); // prettier-ignore
    const error = await refusedBoot({ url: database.url, providers: [Greeting] });
    expect(error).toBeInstanceOf(WorkflowSchemaError);
    expect(error.message).toMatch(
      /Missing: in "workflow_steps" the columns wait_for, waiting_since, timeout_at, timed_out, batch_size, job_name, job_args, job_attempt; table "workflow_signals"/,
    );
    expect(await sql.query(`select to_regclass('workflow_signals') is null as missing`)).toEqual([{ missing: true }]);

    await sql.query(`alter table workflow_steps add column wait_for text, add column waiting_since timestamptz, add column timeout_at timestamptz,
      add column timed_out boolean not null default false, add column batch_size integer, add column job_name varchar(255),
      add column job_args json, add column job_attempt integer not null default 0`); // prettier-ignore
    await sql.query(`create table workflow_signals (id bigint generated always as identity primary key, workflow_id uuid not null,
      name varchar(255) not null, payload json not null, idempotency_key varchar(255), status text not null default 'pending',
      claimed_by_step_id bigint, created_at timestamptz not null default now(), claimed_at timestamptz, consumed_at timestamptz,
      constraint workflow_signals_one_delivery unique (workflow_id, idempotency_key))`); // prettier-ignore
    const app = await boot();
    const run = await app.get(WorkflowService).find(older);
    await suite.eventually(async () => (await run.reload()).status === 'finished', 'the old run is finished');
    await app.close();
  });
});
