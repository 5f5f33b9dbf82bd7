import { MetadataManager } from '@nestjs/schematics';
import type { Tree } from '@angular-devkit/schematics';
import ts from 'typescript';
import { withImport } from './import-line.js';
import { hasSpread, listOf, nodesOf, parse, propertyOf } from './sources.js';

/** What goes into a list of a module's metadata, and the imports that it needs. */
export interface ModuleEntry {
  list: 'imports' | 'providers';
  code: string;
  imports: { symbol: string; specifier: string }[];
}

/**
 * Writes an entry into the file of a Nest module.
 *
 * @returns why it could not, worded to follow the file's name: `has no "imports" that is a list`. Then the file is as it was.
 */
export function addToModule(tree: Tree, path: string, { list, code, imports }: ModuleEntry): string | null {
  const text = tree.readText(path);
  const metadata = metadataOf(path, text);
  if (typeof metadata === 'string') return metadata;
  const problem = problemOf(metadata, list);
  if (problem !== null || has(metadata, list, code)) return problem;
  const changed = new MetadataManager(text).insert(list, code);
  if (changed === undefined || changed === text) return 'has an @Module() that could not be edited';
  tree.overwrite(
    path,
    imports.reduce((all, { symbol, specifier }) => withImport(all, symbol, specifier), changed),
  );
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

const has = (metadata: ts.ObjectLiteralExpression, list: string, code: string): boolean =>
  listOf(metadata, list)?.elements.some((element) => element.getText() === code) ?? false;
