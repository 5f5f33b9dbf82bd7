import type { DirEntry, Tree } from '@angular-devkit/schematics';
import ts from 'typescript';

/** A TypeScript file of the application, by its path from the application's root: `/src/app.module.ts`. */
export interface Source {
  path: string;
  text: string;
}

const FOREIGN_FOLDERS = new Set(['node_modules', 'dist', 'build', 'out', 'coverage', 'test', 'e2e']);
const SOURCE = /\.[cm]?ts$/;
const NOT_OF_THE_APPLICATION = /\.(spec|test|e2e-spec|d)\.[cm]?ts$/;

/** The TypeScript files below the root that are neither tests nor somebody else's, without those of hidden folders. */
export function* sourcesOf(tree: Tree): Generator<Source> {
  yield* sourcesIn(tree, tree.root);
}

function* sourcesIn(tree: Tree, folder: DirEntry): Generator<Source> {
  for (const name of folder.subfiles) {
    if (!SOURCE.test(name) || NOT_OF_THE_APPLICATION.test(name)) continue;
    const path = `${folder.path === '/' ? '' : folder.path}/${name}`;
    yield { path, text: textOf(tree, path) };
  }
  for (const name of folder.subdirs) {
    if (!FOREIGN_FOLDERS.has(name) && !name.startsWith('.')) yield* sourcesIn(tree, folder.dir(name));
  }
}

/** A file's text, with the line breaks that everything here works with: {@link rewrite} gives back those that it has. */
export const textOf = (tree: Tree, path: string): string => tree.readText(path).replaceAll('\r\n', '\n');

/** Writes a file's new text, with the line breaks that it has. */
export function rewrite(tree: Tree, path: string, text: string): void {
  tree.overwrite(path, tree.readText(path).includes('\r\n') ? text.replaceAll('\n', '\r\n') : text);
}

/** The file's syntax tree, whose nodes know their parents and positions. */
export function parse({ path, text }: Source): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** All nodes of a kind, from the outside in. */
export function* nodesOf<T extends ts.Node>(node: ts.Node, is: (node: ts.Node) => node is T): Generator<T> {
  if (is(node)) yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child, is);
}

function childrenOf(node: ts.Node): ts.Node[] {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

/** Whether a file calls something of that name, and not only in a comment. */
export const calls = (source: Source, name: RegExp): boolean =>
  name.test(source.text) &&
  [...nodesOf(parse(source), isCall)].some(({ expression }) => name.test(expression.getText()));

const isCall = (node: ts.Node): node is ts.CallExpression | ts.NewExpression =>
  ts.isCallExpression(node) || ts.isNewExpression(node);

/** The property of an object literal that is written `name: …`. */
export function propertyOf(literal: ts.ObjectLiteralExpression, name: string): ts.ObjectLiteralElementLike | undefined {
  return literal.properties.find(
    (property) =>
      property.name !== undefined &&
      (ts.isIdentifier(property.name) || ts.isStringLiteral(property.name)) &&
      property.name.text === name,
  );
}

/** The list that is written `name: […]`. */
export function listOf(literal: ts.ObjectLiteralExpression, name: string): ts.ArrayLiteralExpression | undefined {
  const property = propertyOf(literal, name);
  if (!property || !ts.isPropertyAssignment(property)) return;
  return ts.isArrayLiteralExpression(property.initializer) ? property.initializer : undefined;
}

/** Whether an object literal takes properties from elsewhere, by `...other`. */
export const hasSpread = (literal: ts.ObjectLiteralExpression): boolean =>
  literal.properties.some((property) => ts.isSpreadAssignment(property));
