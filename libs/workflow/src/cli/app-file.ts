import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { CliError } from './exit.js';

/** Where the application's module is. */
export interface AppFile {
  /** Absolute. */
  readonly file: string;
  /** The name it is exported by; null: whichever module there is. */
  readonly name: string | null;
  /** As messages call it. */
  readonly label: string;
}

const PACKAGE = 'nestjs-pg-workflows';

/**
 * The compiled module that was named, or else the one that package.json names, or else where Nest's own build puts it.
 *
 * @throws {CliError} saying where was looked, and what to do
 */
export function findApp(given: string | undefined, folder = process.cwd()): AppFile {
  const named = given ?? namedInManifest(folder);
  if (named !== undefined) return namedApp(named, folder);
  const candidates = usualPlaces(folder);
  const found = candidates.find((candidate) => existsSync(path.join(folder, candidate)));
  if (found !== undefined) return { file: path.join(folder, found), name: null, label: found };
  const bundle = candidates.map(mainBeside).find((main) => existsSync(path.join(folder, main)));
  if (bundle !== undefined) throw bundled(bundle);
  throw new CliError(
    'NO_APP',
    `There is no compiled application here: looked for ${candidates.join(', ')}. Build it first (npm run build), or name the compiled file of its root ` +
      'module: --app dist/app.module.js#AppModule',
  );
}

const SECOND_ENTRY =
  'have it make another one of the module: "webpack": false in nest-cli.json, or a second entry (docs/cli.md shows one)';

function mainBeside(candidate: string): string {
  return path.join(path.dirname(candidate), 'main.js');
}

function bundled(main: string): CliError {
  return new CliError(
    'NO_APP',
    `There is ${main}, and no app.module.js beside it: webpack makes one file of all, which starts the application and has no module to open. For the tool, ` +
      `${SECOND_ENTRY}. Where the root module has another name, name its file: --app ${path.dirname(main)}/shop.module.js#ShopModule`,
  );
}

function namedApp(named: string, folder: string): AppFile {
  const [, relative = '', name = null] = /^(.*?)(?:#([^#]*))?$/s.exec(named) ?? [];
  const file = path.resolve(folder, relative);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (/\.[cm]?ts$/.test(relative)) {
    throw new CliError(
      'NO_APP',
      `${relative} is TypeScript: build the application, and name the compiled file: --app dist/${path.basename(relative).replace(/ts$/, 'js')}`,
    );
  }
  if (!stat?.isFile()) {
    const problem = stat ? `${file} is no file` : `There is no file ${file}`;
    throw new CliError(
      'NO_APP',
      `${problem}. Build the application first (npm run build), and name the compiled file of its root module: --app dist/app.module.js#AppModule`,
    );
  }
  if (/^main\.[cm]?js$/.test(path.basename(file)) && name === null) {
    throw new CliError(
      'NO_APP',
      `${relative} starts the application; name the file that exports its root module: --app dist/app.module.js#AppModule. Where the build makes one file ` +
        `of all, ${SECOND_ENTRY}.`,
    );
  }
  return { file, name: name === '' ? null : name, label: named };
}

function namedInManifest(folder: string): string | undefined {
  const app: unknown = (readJson(path.join(folder, 'package.json'))?.[PACKAGE] as { app?: unknown } | undefined)?.app;
  return typeof app === 'string' && app !== '' ? app : undefined;
}

/** Where `nest build` puts the root module: of an application, and of the default project of a monorepo. */
function usualPlaces(folder: string): string[] {
  const nest = readJson(path.join(folder, 'nest-cli.json'));
  const root = typeof nest?.root === 'string' && nest.root !== '' ? nest.root : null;
  const folders = [...(root === null ? [] : [`dist/${root}`, `dist/${root}/src`]), 'dist', 'dist/src'];
  return ['', '/app'].flatMap((below) => folders.map((one) => `${one}${below}/app.module.js`));
}

function readJson(file: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * The folder of the package as the application loads it: it knows the application's classes by its own decorators, another copy does not.
 *
 * @throws {CliError} when the application has none
 */
export function packageOf({ file, label }: Pick<AppFile, 'file' | 'label'>): string {
  try {
    return realpathSync(path.dirname(createRequire(file).resolve(`${PACKAGE}/package.json`)));
  } catch (error) {
    throw new CliError(
      'NO_PACKAGE',
      `The application of ${label} does not have ${PACKAGE} installed: npm install ${PACKAGE}, in its folder.`,
      undefined,
      { cause: error },
    );
  }
}

/** The folder of the package that this code is of. */
export function ownPackage(): string {
  return realpathSync(path.join(__dirname, '../..'));
}
