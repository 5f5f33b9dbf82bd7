import { posix } from 'node:path';
import type { Tree } from '@angular-devkit/schematics';
import ts from 'typescript';
import { withImport } from '../application/import-line.js';
import type { Scope } from '../application/scope.js';
import { nodesOf, parse, rewrite, textOf, type Source } from '../application/sources.js';
import {
  dataSourcesIn,
  insertEntities,
  insertMigrations,
  migrationsOf,
  runsMigrations,
  usesOtherDatabase,
  usesTypeOrm,
  type DataSourceLiteral,
} from './data-source.js';

/**
 * What became of the package's migrations: the application had them (`present`), has them now (`added`, and whether they run as it
 * starts), has no TypeORM yet (`no-data-source`), has options of a DataSource that could not be edited (`by-hand`), or has another database
 * (`other-database`).
 */
export type Outcome =
  { is: 'present' | 'no-data-source' | 'by-hand' } | { is: 'added'; run: boolean } | { is: 'other-database' };

// As TypeORM names them, for globs that ask for a timestamp.
const FILE = '1764500000000-nestjs-pg-workflows.ts';
const RE_EXPORT = `// The tables of nestjs-pg-workflows, and what later versions of it will change: TypeORM finds the migrations in this list.
export { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
`;
const MIGRATION = /^\d{10,}-.+\.[cm]?ts$/;

/** Puts the package's migrations beside the application's own: into the folder that its globs look in, else into its list. */
export function addMigrations(tree: Tree, { own: sources, shared }: Scope): Outcome {
  if (sources.some(namesMigrations)) return { is: 'present' };
  const found = sources.flatMap(dataSourcesIn);
  if (found.length === 0) {
    if (sources.some(usesOtherDatabase)) return { is: 'other-database' };
    if (!sources.some(usesTypeOrm)) {
      // A library's DataSource may be this application's, or not.
      if (shared.some(namesMigrations)) return { is: 'present' };
      return { is: shared.some(usesTypeOrm) ? 'by-hand' : 'no-data-source' };
    }
  }
  // More than one for the application, or for TypeORM's command line: which of them is meant is not to be guessed.
  if ([true, false].some((ofNest) => found.filter((one) => one.ofNest === ofNest).length > 1)) return { is: 'by-hand' };

  const folder = folderOf(sources.map(({ path }) => path));
  const byFolder = found.filter((one) => ['globs', 'elsewhere'].includes(migrationsOf(one)));
  if (folder === undefined && (found.length === 0 || byFolder.some((one) => migrationsOf(one) === 'elsewhere'))) {
    return { is: 'by-hand' };
  }
  const inFolder = folder !== undefined && (found.length === 0 || byFolder.length > 0);
  if (inFolder) tree.create(posix.join(folder, FILE), RE_EXPORT);
  for (const one of found) edit(tree, one, !(inFolder && byFolder.includes(one)));
  return { is: 'added', run: found.some(runsMigrations) };
}

const SPECIFIER = 'nestjs-pg-workflows/migrations';

const namesMigrations = (source: Source): boolean =>
  source.text.includes(SPECIFIER) &&
  [...nodesOf(parse(source), ts.isStringLiteral)].some(({ text }) => text === SPECIFIER);

/** The one folder of migrations that the application has. */
function folderOf(paths: string[]): string | undefined {
  const folders = new Set(
    paths.filter((path) => MIGRATION.test(posix.basename(path))).map((path) => posix.dirname(path)),
  );
  return folders.size === 1 ? [...folders][0] : undefined;
}

function edit(tree: Tree, dataSource: DataSourceLiteral, withMigrations: boolean): void {
  const entities = insertEntities(dataSource);
  const insertions = [...(withMigrations ? [insertMigrations(dataSource)] : []), ...(entities ? [entities] : [])];
  const { path } = dataSource;
  let text = textOf(tree, path);
  // From the end on: positions are those of the file as it was. Of two at one position the first given comes first.
  for (const insertion of insertions.toReversed().toSorted((one, other) => other.position - one.position)) {
    text = text.slice(0, insertion.position) + insertion.text + text.slice(insertion.position);
  }
  if (withMigrations) text = withImport(text, 'WorkflowMigrations', SPECIFIER);
  if (entities?.names) text = withImport(text, 'WorkflowEntities', 'nestjs-pg-workflows');
  if (insertions.length > 0) rewrite(tree, path, text);
}
