import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { cancel, resume, signal } from './act.command.js';
import { findApp, ownPackage, packageOf, type AppFile } from './app-file.js';
import { parse, type Given } from './arguments.js';
import { check } from './check.command.js';
import type { CommandName } from './commands.js';
import { Ending } from './ending.js';
import { CliError, EXIT, UsageError, type ExitCode } from './exit.js';
import { NAME } from './failure.js';
import { commandHelp, generalHelp } from './help.js';
import { list } from './list.command.js';
import { Output } from './output.js';
import { sessionOf, type Prepare } from './session.js';
import { show } from './show.command.js';

const COMMANDS: Record<CommandName, Prepare> = { check, list, show, resume, cancel, signal };

/** Runs the tool, and ends the process: what the application left open must not keep it. */
export async function run(argv: readonly string[]): Promise<void> {
  const out = new Output();
  const ending = new Ending(out, argv);
  try {
    const code = await answer(argv, out, ending);
    if (code !== HANDED_OVER) ending.end(code);
  } catch (error) {
    await ending.fail(error);
  }
}

/** The application's own copy of the package carries on. */
const HANDED_OVER = -1;

async function answer(argv: readonly string[], out: Output, ending: Ending): Promise<ExitCode | typeof HANDED_OVER> {
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
  if (app && packageOf(app) !== ownPackage()) return handOver(packageOf(app), app, argv, { out, ending });
  // Nest and TypeORM take their time to load: not for the help, nor for a command line that cannot be right.
  const { loadModule, tablesOnly, withApp } = await import('./application.js');
  const label = app ? app.label : '--database-url';
  const root = () => (app ? loadModule(app) : tablesOnly(given.texts.get('database-url')!, given.texts.get('schema')));
  const opened = { label, verbose: given.flags.has('verbose'), anySchema: given.command.name === 'check' };
  ending.label = label;
  return withApp(root, opened, async (one) => {
    const sending = (id: string) => ending.sending(id);
    const code = await prepared(sessionOf(one, { given, out, label, sending }));
    ending.answered(code);
    return code;
  });
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
  { out, ending }: { readonly out: Output; readonly ending: Ending },
): Promise<typeof HANDED_OVER> {
  const theirs = await toolOf(folder, app);
  out.release();
  ending.release();
  await theirs(argv);
  return HANDED_OVER;
}

async function toolOf(folder: string, { label }: AppFile): Promise<typeof run> {
  const file = path.join(folder, 'dist/cli/run.js');
  let cause: unknown;
  try {
    const theirs = (await import(pathToFileURL(file).href)) as { run?: typeof run };
    if (theirs.run) return theirs.run;
  } catch (error) {
    cause = error;
  }
  throw new CliError(
    'NO_PACKAGE',
    `The application of ${label} has ${NAME} ${versionOf(folder)}, which has no such tool. Update it there: npm install ${NAME}@latest`,
    undefined,
    { cause },
  );
}

function versionOf(folder: string): string {
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version: string };
  return version;
}
