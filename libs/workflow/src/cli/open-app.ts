import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { WorkflowError } from '../errors.js';
import { SERVICE_PARTS, type ServiceParts } from '../service/service.parts.js';
import { WorkflowService } from '../service/workflow.service.js';
import { checkSchema } from '../store/schema-check.js';
import { WorkflowModule } from '../workflow.module.js';
import { WorkflowRuntime } from '../workflow.runtime.js';
import type { RootModule } from './app-module.js';
import { CliError } from './exit.js';
import { messageOf } from './failure.js';
import { quietNest, type QuietNest } from './quiet-nest.js';

/** An application with its objects made and nothing set going. */
export interface OpenApp {
  readonly service: WorkflowService;
  readonly parts: ServiceParts;
  /** Names of the migrations that it runs as it boots. */
  readonly runAtBoot: readonly string[];
}

const CONNECT_MS = 30_000;
const BOOT_MS = 90_000;
const CLOSE_MS = 3_000;

/**
 * Loads the application, makes its objects, hands them to `use`, and closes what is ours and the databases, within a few seconds.
 *
 * @param anySchema the tables need not be what this version needs
 * @throws {CliError} when the application or its database is not as it should be
 */
export async function withApp<T>(
  load: () => RootModule | Promise<RootModule>,
  { label, verbose, anySchema }: { readonly label: string; readonly verbose: boolean; readonly anySchema: boolean },
  use: (app: OpenApp) => Promise<T>,
): Promise<T> {
  let failed!: (error: CliError) => void;
  const failure = new Promise<never>((_, reject) => (failed = reject));
  failure.catch(() => undefined);
  const sources = quietNest({
    away: (error, dataSource) => failed(away(error, dataSource)),
    starts: (method) => failed(startsItself(label, method)),
  });
  let loaded = false;
  const timers = [setTimeout(() => failed(loaded ? stuck(label) : notLoaded(label)), BOOT_MS).unref()];
  let runtime: WorkflowRuntime | undefined;
  try {
    const root = await Promise.race([load(), failure]);
    loaded = true;
    timers.push(
      setTimeout(() => {
        const waiting = [...sources.opened].find((dataSource) => !dataSource.isInitialized);
        if (waiting) failed(slow(waiting));
      }, CONNECT_MS).unref(),
    );
    const opening = sources.create(root, {
      logger: verbose ? ['fatal', 'error', 'warn', 'log'] : false,
      abortOnError: false,
    });
    const context = await Promise.race([opening.catch(bootFailed(label)), failure]);
    for (const timer of timers) clearTimeout(timer);
    runtime = theRuntime(context, label);
    const app = await openedApp(context, sources);
    if (!anySchema) await checked(app);
    await runtime.open();
    return await use(app);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    await inTime(close(runtime, sources), CLOSE_MS);
  }
}

/** @throws {CliError} when there is no WorkflowModule, or two, or a workflow class cannot be right */
function theRuntime(context: INestApplicationContext, label: string): WorkflowRuntime {
  const modules = each(() => context.get(WorkflowModule, { strict: false, each: true }));
  if (modules.length === 0) {
    throw new CliError(
      'NO_WORKFLOW_MODULE',
      `${label} has no WorkflowModule. Import WorkflowModule.forRoot() in its root module; if another module is the root, name it: --app <file>#<Name>`,
    );
  }
  try {
    modules[0]!.onModuleInit();
    context.get<ServiceParts>(SERVICE_PARTS, { strict: false }).registry.all();
  } catch (error) {
    bootFailed(label)(error);
  }
  return context.get(WorkflowRuntime, { strict: false });
}

async function openedApp(context: INestApplicationContext, { migrating }: QuietNest): Promise<OpenApp> {
  const parts = context.get<ServiceParts>(SERVICE_PARTS, { strict: false });
  const { dataSource } = parts.database;
  const names = dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
  return {
    service: context.get(WorkflowService, { strict: false }),
    parts,
    runAtBoot: migrating.has(dataSource) ? names : [],
  };
}

/** @throws {CliError} when the tables are not what this version needs */
async function checked({ parts: { database } }: OpenApp): Promise<void> {
  try {
    await database.connect((connection) => checkSchema(connection, database.dataSource));
  } catch (error) {
    if (!(error instanceof WorkflowError)) throw error;
    throw new CliError(error.code, error.message, undefined, { cause: error });
  }
}

function bootFailed(label: string): (error: unknown) => never {
  return (error) => {
    const code = error instanceof WorkflowError ? error.code : 'APP_FAILED';
    throw new CliError(code, `${label} does not boot: ${messageOf(error)}`, undefined, { cause: error });
  };
}

function away(error: unknown, { options }: DataSource): CliError {
  return new CliError(
    'DATABASE_AWAY',
    `The database ${placeOf(options)} could not be opened: ${messageOf(error)}. Are the same environment variables set here as for the application? --env <file> sets those of a file.`,
    undefined,
    { cause: error },
  );
}

function slow({ options }: DataSource): CliError {
  return new CliError(
    'DATABASE_AWAY',
    `The database ${placeOf(options)} has not answered for ${CONNECT_MS / 1_000} s: is it reachable from here?`,
  );
}

function notLoaded(label: string): CliError {
  return new CliError(
    'APP_FAILED',
    `${label} has not been loaded within ${BOOT_MS / 1_000} s. A top-level await in it, or in a file that it imports, waits for something.`,
  );
}

function startsItself(label: string, method: string): CliError {
  return new CliError(
    'NO_APP',
    `${label} starts an application as it loads (NestFactory.${method}), which was not done. Name the file that only exports its root module: ` +
      '--app dist/app.module.js#AppModule',
  );
}

function stuck(label: string): CliError {
  return new CliError(
    'APP_FAILED',
    `${label} has not come up within ${BOOT_MS / 1_000} s. One of its constructors or provider factories waits for something; --verbose shows Nest's log.`,
  );
}

/** Without user and password. */
function placeOf(options: DataSource['options']): string {
  const { url, host, port, database } = options as { url?: string; host?: string; port?: number; database?: string };
  if (url !== undefined && URL.canParse(url)) {
    const { hostname, port: given, pathname } = new URL(url);
    return `at ${hostname || 'localhost'}${given && `:${given}`}${pathname}`;
  }
  return `at ${host ?? 'localhost'}${port === undefined ? '' : `:${port}`}/${database ?? ''}`;
}

async function close(runtime: WorkflowRuntime | undefined, { opened }: QuietNest): Promise<void> {
  await runtime?.onModuleDestroy();
  await Promise.all([...opened].filter(({ isInitialized }) => isInitialized).map((dataSource) => dataSource.destroy()));
}

/** What does not end in that time is left to the end of the process. */
async function inTime(work: Promise<void>, limit: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, limit)));
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}

/** Nest throws when there is none. */
function each<T>(find: () => T[]): T[] {
  try {
    return find();
  } catch {
    return [];
  }
}
