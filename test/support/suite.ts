import 'reflect-metadata';
import { Logger, type INestApplicationContext, type LoggerService, type Provider, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type EntitySchema } from 'typeorm';
import {
  WorkflowModule,
  WorkflowService,
  type ErrorContext,
  type RunStatus,
  type WorkflowHandle,
  type WorkflowModuleOptions,
} from 'nestjs-pg-workflows';
import { createTestDatabase, type TestDatabase } from './database';
import { brokenInvariants } from './invariants';

/** What `boot` is given beside the workflow classes: settings of `forRoot`, and what else the application has. */
export interface BootOptions extends WorkflowModuleOptions {
  entities?: (Type | EntitySchema)[];
  imports?: NonNullable<Parameters<typeof Test.createTestingModule>[0]['imports']>;
  poolSize?: number;
  /** Over the options of the DataSource: another way to the suite's database, say. */
  dataSource?: object;
}

/** An application with a worker (unless `worker: false`) on the suite's database. */
export interface TestApp {
  readonly app: INestApplicationContext;
  readonly workflows: WorkflowService;
  readonly dataSource: DataSource;
  /** What the error reporter was told. */
  readonly reported: { error: unknown; context: ErrorContext }[];
  readonly close: () => Promise<void>;
}

export interface Suite {
  /** Boots an application; it is closed after the test. Polls every 50 ms, and counts nothing, unless told otherwise. */
  readonly boot: (providers: Provider[], options?: BootOptions) => Promise<TestApp>;
  readonly database: TestDatabase;
  /** Rows of plain SQL, on a connection of the suite's own. */
  readonly sql: <Row = Record<string, any>>(query: string, parameters?: unknown[]) => Promise<Row[]>;
  /** Waits until the run has one of these statuses. */
  readonly until: (run: WorkflowHandle | string, ...statuses: RunStatus[]) => Promise<RunStatus>;
  /** Waits until the condition holds. */
  readonly eventually: (condition: () => boolean | Promise<boolean>, what: string) => Promise<void>;
  /** The names of the run's events, in order. */
  readonly trail: (run: WorkflowHandle | string) => Promise<string[]>;
}

/** For a loaded machine: what is waited for comes in milliseconds else. */
const PATIENCE_MS = 45_000;
const LOOK_EVERY_MS = 5;

/** A database for the suite, applications for its tests, and the invariants after each of them. */
export function workflowSuite(): Suite {
  const apps: TestApp[] = [];
  const warnings = new WarningsOnly();
  let database: TestDatabase;
  let own: DataSource;

  beforeAll(async () => {
    Logger.overrideLogger(warnings);
    database = await createTestDatabase();
    own = await new DataSource({ type: 'postgres', url: database.url, poolSize: 4 }).initialize();
  });

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    warnings.lines.length = 0;
    expect(await brokenInvariants(own)).toEqual([]);
  });

  afterAll(async () => {
    await own?.destroy();
    await database?.drop();
  });

  const idOf = (run: WorkflowHandle | string) => (typeof run === 'string' ? run : run.id);

  const suite: Suite = {
    get database() {
      return database;
    },

    async boot(providers, { entities = [], imports = [], poolSize = 10, dataSource = {}, ...options } = {}) {
      const reported: TestApp['reported'] = [];
      const module = await Test.createTestingModule({
        imports: [
          TypeOrmModule.forRoot({
            type: 'postgres',
            url: database.url,
            autoLoadEntities: true,
            entities,
            poolSize,
            retryAttempts: 0,
            ...dataSource,
          }),
          WorkflowModule.forRoot({
            errorReporter: { report: (error, context) => void reported.push({ error, context }) },
            metrics: false,
            ...options,
            ...(options.worker !== false && { worker: { pollInterval: 50, ...options.worker } }),
          }),
          ...imports,
        ],
        providers,
      })
        .setLogger(warnings)
        .compile();
      const app = await module.init();
      let closed: Promise<void> | undefined;
      const booted: TestApp = {
        app,
        workflows: app.get(WorkflowService),
        dataSource: app.get(DataSource),
        reported,
        close: () => (closed ??= app.close()),
      };
      apps.push(booted);
      return booted;
    },

    sql: (query, parameters) => own.query(query, parameters),

    async eventually(condition, what) {
      const deadline = performance.now() + PATIENCE_MS;
      while (!(await condition())) {
        if (performance.now() > deadline) {
          throw new Error(`Waited ${PATIENCE_MS} ms in vain until ${what}\n${await lastSeen(own, warnings.lines)}`);
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },

    async until(run, ...statuses) {
      let status: RunStatus | undefined;
      await suite
        .eventually(
          async () => {
            status = (
              await own.query<{ status: RunStatus }[]>('select status from workflows where id = $1', [idOf(run)])
            )[0]?.status;
            return status !== undefined && statuses.includes(status);
          },
          `workflow ${idOf(run)} is ${statuses.join(' or ')}`,
        )
        .catch((error: Error) => {
          error.message += `; it is ${status}`;
          throw error;
        });
      return status!;
    },

    async trail(run) {
      const rows = await own.query<{ name: string }[]>(
        'select name from workflow_events where workflow_id = $1 order by id',
        [idOf(run)],
      );
      return rows.map(({ name }) => name);
    },
  };
  return suite;
}

/** Keeps a test run's output readable: warnings and errors are kept for a test that fails, the rest is not. */
export class WarningsOnly implements LoggerService {
  readonly lines: string[] = [];

  log(): void {}
  warn(message: unknown): void {
    this.keep(message);
  }
  error(message: unknown): void {
    this.keep(message);
  }

  private keep(message: unknown): void {
    this.lines.push(String(message));
    if (process.env.DEBUG_TESTS) console.error(message);
  }
}

const LAST = 12;

/** What a test that waited in vain leaves to be looked at. */
async function lastSeen(own: DataSource, warnings: readonly string[]): Promise<string> {
  const steps = await own.query<object[]>(
    'select workflow_id, id, step_name, attempt, status, outcome, claim_no, worker from workflow_steps order by id desc limit $1',
    [LAST],
  );
  const events = await own.query<object[]>(
    'select workflow_id, step_id, name, actor, created_at from workflow_events order by id desc limit $1',
    [LAST],
  );
  const list = (title: string, rows: readonly unknown[]) =>
    `${title}:\n${rows.map((row) => `  ${typeof row === 'string' ? row : JSON.stringify(row)}`).join('\n')}`;
  return [list('newest steps', steps), list('newest events', events), list('logged', warnings.slice(-LAST))].join('\n');
}

/** A promise that a test settles by hand: a gate in a body, a mark that a place was reached. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
