import { posix } from 'node:path';
import { ModuleFinder } from '@nestjs/schematics';
import type { Tree } from '@angular-devkit/schematics';
import ts from 'typescript';
import { nodesOf, parse } from '../application/sources.js';

/** The file of the module that `main.ts` makes the application of; else the module nearest to the source root, or none. */
export function rootModuleOf(tree: Tree, sourceRoot: string): string | null {
  const main = posix.join('/', sourceRoot, 'main.ts');
  return (tree.exists(main) ? bootstrapped(tree, main) : null) ?? conventional(tree, sourceRoot);
}

function bootstrapped(tree: Tree, main: string): string | null {
  const source = parse({ path: main, text: tree.readText(main) });
  for (const call of nodesOf(source, ts.isCallExpression)) {
    const [module] = call.arguments;
    if (!/^NestFactory\s*\.\s*create/.test(call.expression.getText()) || !module || !ts.isIdentifier(module)) continue;
    const specifier = specifierOf(source, module.text);
    if (specifier?.startsWith('.')) return fileOf(tree, posix.join(posix.dirname(main), specifier));
    if (specifier !== undefined) return fromBaseUrl(tree, main, specifier);
  }
  return null;
}

/** `src/root.module`: from some folder above, which tsconfig.json calls the base URL. */
function fromBaseUrl(tree: Tree, main: string, specifier: string): string | null {
  for (let folder = posix.dirname(main); ; folder = posix.dirname(folder)) {
    const found = fileOf(tree, posix.join(folder, specifier));
    if (found !== null || folder === '/') return found;
  }
}

function specifierOf(source: ts.SourceFile, name: string): string | undefined {
  for (const { importClause, moduleSpecifier } of nodesOf(source, ts.isImportDeclaration)) {
    const bindings = importClause?.namedBindings;
    const named = bindings && ts.isNamedImports(bindings) ? bindings.elements.map((element) => element.name.text) : [];
    if ([...named, importClause?.name?.text].includes(name)) return (moduleSpecifier as ts.StringLiteral).text;
  }
  return undefined;
}

function fileOf(tree: Tree, imported: string): string | null {
  const stem = imported.replace(/\.[cm]?js$/, '');
  return [`${stem}.ts`, `${stem}/index.ts`].find((path) => tree.exists(path)) ?? null;
}

function conventional(tree: Tree, sourceRoot: string): string | null {
  const usual = posix.join('/', sourceRoot, 'app.module.ts');
  if (tree.exists(usual)) return usual;
  return new ModuleFinder(tree).find({ name: '', path: posix.join('/', sourceRoot) as never });
}
