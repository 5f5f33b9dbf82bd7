import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { WorkflowError } from '../errors.js';
import { InvalidQueryError } from '../insights/query-error.js';
import { cancel, resume, signal } from './act.command.js';
import { findApp, ownPackage, packageOf, type AppFile } from './app-file.js';
import { parse, type Given } from './arguments.js';
import { check } from './check.command.js';
import type { CommandName } from './commands.js';
import { CliError, EXIT, UsageError, type ExitCode } from './exit.js';
import { commandHelp, generalHelp } from './help.js';
import { list } from './list.command.js';
import { oneLine, Output, visible } from './output.js';
import { sessionOf, type Prepare } from './session.js';
import { show } from './show.command.js';

const COMMANDS: Record<CommandName, Prepare> = { check, list, show, resume, cancel, signal };
const NAME = 'nestjs-pg-workflows';

/** Runs the tool, and ends the process: what the application left open must not keep it. */
export async function run(argv: readonly string[]): Promise<void> {
  const out = new Output();
  const complain = (error: unknown) => fail(error, out, argv);
  const crash = async (error: unknown) => process.exit(await complain(error));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => void crash(error));
  }
  const code = await answer(argv, out).catch(complain);
  if (code !== HANDED_OVER) process.exit(code);
}

/** The application's own copy of the package carries on. */
const HANDED_OVER = -1;

async function answer(argv: readonly string[], out: Output): Promise<ExitCode | typeof HANDED_OVER> {
  const parsed = parse(argv);
  if (parsed.kind === 'version') {
    await out.line(versionOf(ownPackage()));
    return EXIT.fine;
  }
  if (parsed.kind === 'help') {
    await out.line(parsed.command ? commandHelp(parsed.command) : generalHelp());
    return EXIT.fine;
  }
  const { given } = parsed;
  const prepared = await COMMANDS[given.command.name](given);
  loadEnvironment(given.texts.get('env'));
  const app = appOf(given);
  if (app && packageOf(app) !== ownPackage()) return handOver(packageOf(app), app, argv, out);
  // Nest and TypeORM take their time to load: not for the help, nor for a command line that cannot be right.
  const { loadModule, tablesOnly, withApp } = await import('./application.js');
  const root = app ? await loadModule(app) : tablesOnly(given.texts.get('database-url')!, given.texts.get('schema'));
  const label = app ? app.label : '--database-url';
  const opened = { label, verbose: given.flags.has('verbose'), anySchema: given.command.name === 'check' };
  return withApp(root, opened, (one) => prepared(sessionOf(one, given, out, label)));
}

/** Null: it is to do without one. */
function appOf({ texts, command }: Given): AppFile | null {
  const url = texts.get('database-url');
  if (url === undefined && texts.has('schema')) {
    throw new UsageError('--schema goes with --database-url; an application says itself which schema it uses.');
  }
  if (url === undefined) return findApp(texts.get('app'));
  if (texts.has('app')) throw new UsageError(`"${command.name}" takes --app or --database-url, not both.`);
  return null;
}

function loadEnvironment(file: string | undefined): void {
  if (file === undefined) return;
  try {
    process.loadEnvFile(file);
  } catch (error) {
    throw new UsageError(`--env cannot be read: ${(error as Error).message}`);
  }
}

/** `npx` may have found another copy than the application's, as where the tool is installed for all of a machine. */
async function handOver(
  folder: string,
  app: AppFile,
  argv: readonly string[],
  out: Output,
): Promise<typeof HANDED_OVER> {
  const file = path.join(folder, 'dist/cli/run.js');
  let theirs: { run?: (argv: readonly string[]) => Promise<void> };
  try {
    theirs = (await import(pathToFileURL(file).href)) as typeof theirs;
  } catch (error) {
    throw new CliError(
      'NO_PACKAGE',
      `The application of ${app.label} has ${NAME} ${versionOf(folder)}, which has no such tool. Update it there: npm install ${NAME}@latest`,
      undefined,
      { cause: error },
    );
  }
  out.release();
  await theirs.run?.(argv);
  return HANDED_OVER;
}

function versionOf(folder: string): string {
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version: string };
  return version;
}

/** Says what went wrong: with `--json` on standard output, else on standard error; the trace only where it is asked for. */
async function fail(error: unknown, out: Output, argv: readonly string[]): Promise<ExitCode> {
  const { code, message, exitCode } = told(error);
  out.exitCode = exitCode;
  if (argv.includes('--json')) await out.json({ ok: false, code, message });
  else process.stderr.write(`${NAME}: ${oneLine(message)}\n`);
  if (argv.includes('--verbose')) process.stderr.write(`${visible(inspect(error))}\n`);
  return exitCode;
}

function told(error: unknown): Pick<CliError, 'code' | 'message' | 'exitCode'> {
  if (error instanceof UsageError) {
    return { code: error.code, message: `${error.message} --help says what there is.`, exitCode: error.exitCode };
  }
  if (error instanceof CliError) return error;
  if (error instanceof InvalidQueryError) return { code: 'USAGE', message: error.message, exitCode: EXIT.unable };
  if (error instanceof WorkflowError) {
    const { code, message } = error;
    return { code, message, exitCode: code === 'WORKFLOW_SCHEMA' ? EXIT.unable : EXIT.refused };
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return { code: 'UNEXPECTED', message: `${message} (--verbose shows where)`, exitCode: EXIT.unable };
}
