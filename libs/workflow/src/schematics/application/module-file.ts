import { MetadataManager } from '@nestjs/schematics';
import type { Tree } from '@angular-devkit/schematics';
import ts from 'typescript';
import { withImport } from './import-line.js';
import { inManner, onLines, withEntries } from './list-entries.js';
import { hasSpread, listOf, nodesOf, parse, propertyOf, rewrite, textOf } from './sources.js';

/** What goes into a list of a module's metadata, and the imports that it needs. */
export interface ModuleEntry {
  list: 'imports' | 'providers';
  entries: string[];
  imports: { symbol: string; specifier: string }[];
}

/**
 * Writes an entry into the file of a Nest module.
 *
 * @returns why it could not, worded to follow the file's name: `has no "imports" that is a list`. Then the file is as it was.
 */
export function addToModule(tree: Tree, path: string, { list, entries, imports }: ModuleEntry): string | null {
  const text = textOf(tree, path);
  const metadata = metadataOf(path, text);
  if (typeof metadata === 'string') return metadata;
  const problem = problemOf(metadata, list);
  if (problem !== null) return problem;
  const written = listOf(metadata, list);
  const missing = entries.filter((entry) => !written?.elements.some((element) => element.getText() === entry));
  if (missing.length === 0) return null;
  const changed = written
    ? withEntries(text, written, missing)
    : new MetadataManager(text).insert(list, inManner(text, missing.length === 1 ? missing[0]! : onLines(missing)));
  if (changed === undefined || changed === text) return 'has an @Module() that could not be edited';
  const withImports = imports.reduce((all, { symbol, specifier }) => withImport(all, symbol, specifier), changed);
  rewrite(tree, path, withImports);
  return null;
}

/** What the file's one `@Module()` is given, or why it cannot be edited: Nest's own manager takes the first decorator it finds. */
function metadataOf(path: string, text: string): ts.ObjectLiteralExpression | string {
  const decorators = [...nodesOf(parse({ path, text }), ts.isDecorator)]
    .map(({ expression }) => expression)
    .filter((expression) => ts.isCallExpression(expression))
    .filter(({ expression }) => expression.getText() === 'Module');
  if (decorators.length !== 1) return `has ${decorators.length === 0 ? 'no' : 'more than one'} @Module()`;
  const [metadata] = decorators[0]!.arguments;
  return metadata && ts.isObjectLiteralExpression(metadata)
    ? metadata
    : 'has an @Module() whose metadata is written elsewhere';
}

/** Nest's own manager writes a second `imports` beside one that is no list. */
function problemOf(metadata: ts.ObjectLiteralExpression, list: string): string | null {
  if (listOf(metadata, list)) return null;
  if (propertyOf(metadata, list)) return `has an @Module() whose "${list}" is not a list written there`;
  return hasSpread(metadata) ? 'takes metadata of its @Module() from elsewhere' : null;
}
