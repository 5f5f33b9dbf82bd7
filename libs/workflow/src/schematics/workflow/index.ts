import { posix } from 'node:path';
import {
  apply,
  applyTemplates,
  chain,
  filter,
  mergeWith,
  move,
  noop,
  strings,
  url,
  type Rule,
  type SchematicContext,
  type Tree,
} from '@angular-devkit/schematics';
import * as nest from '@nestjs/schematics';
import ts from 'typescript';
import { hasEsModules } from '../application/es-modules.js';
import { addToModule } from '../application/module-file.js';
import { scopeOf } from '../application/scope.js';
import { nodesOf, parse } from '../application/sources.js';
import { workflowName } from './name.js';

/** What the Nest CLI gives, from flags and `nest-cli.json`. */
export interface GenerateWorkflowOptions {
  name?: unknown;
  path?: string;
  sourceRoot?: string;
  language?: string;
  flat?: boolean;
  spec?: boolean;
  specFileSuffix?: string;
  skipImport?: boolean;
  format?: boolean;
}

/** `nest g -c nestjs-pg-workflows workflow order`: a workflow class with its spec, among the providers of the nearest module. */
export function workflow(options: GenerateWorkflowOptions): Rule {
  const name = workflowName(options.name);
  if (options.language === 'js')
    throw new Error('nestjs-pg-workflows generates TypeScript only; this application is JavaScript.');
  const placed = { sourceRoot: options.sourceRoot, path: posix.join(options.path ?? '.', name.folders) };
  return chain([
    // Nest's own: it leaves the source root out when run in a folder below the application's.
    nest.mergeSourceRoot(placed as never),
    (tree) => {
      const folder = posix.join('/', placed.path, options.flat ? '.' : name.file);
      const extension = hasEsModules(tree) ? '.js' : '';
      const spec = options.spec ?? true;
      const suffix = nest.normalizeToKebabOrSnakeCase(options.specFileSuffix || 'spec');
      refuseExisting(tree, folder, `${name.file}.workflow.ts`, 'Take another name, or another path.');
      if (spec)
        refuseExisting(
          tree,
          folder,
          `${name.file}.workflow.${suffix}.ts`,
          'Move it, or leave the spec out: --no-spec.',
        );
      refuseTwice(tree, placed.sourceRoot, name.class);
      const files = apply(url('./files'), [
        spec ? noop() : filter((path) => !path.includes('__specFileSuffix__')),
        applyTemplates({
          classify: strings.classify,
          name: name.file,
          className: name.class,
          specFileSuffix: suffix,
          specImport: `./${name.file}.workflow${extension}`,
        }),
        move(folder),
      ]);
      return chain([
        mergeWith(files),
        options.skipImport ? noop() : register(`${folder}/${name.file}.workflow`, name.class, extension),
        // Nest 11.0 has no such rule.
        options.format && nest.formatFiles ? nest.formatFiles() : noop(),
      ]);
    },
  ]);
}

function refuseExisting(tree: Tree, folder: string, file: string, advice: string): void {
  if (tree.getDir(folder).subfiles.some((name) => name === file))
    throw new Error(`${posix.join(folder, file).slice(1)} exists already. ${advice}`);
}

/** A workflow goes by its class's name: of two that have one name, none could be told by its runs. */
function refuseTwice(tree: Tree, sourceRoot: string | undefined, className: string): void {
  const other = scopeOf(tree, sourceRoot ?? 'src').own.find(
    (source) =>
      source.text.includes('nestjs-pg-workflows') &&
      [...nodesOf(parse(source), ts.isClassDeclaration)].some(({ name }) => name?.text === className),
  );
  if (other)
    throw new Error(
      `${other.path.slice(1)} has a class ${className} already, and an application has one workflow of a name. Take another name.`,
    );
}

function register(file: string, className: string, extension: string): Rule {
  return (tree: Tree, { logger }: SchematicContext) => {
    const module = new nest.ModuleFinder(tree).find({ name: '', path: posix.dirname(file) as never });
    if (module === null) {
      logger.warn(`No module was found above ${file.slice(1)}.ts. Add ${className} to the "providers" of one.`);
      return;
    }
    const relative = posix.relative(posix.dirname(module), file);
    const specifier = `${relative.startsWith('.') ? '' : './'}${relative}${extension}`;
    const problem = addToModule(tree, module, {
      list: 'providers',
      entries: [className],
      imports: [{ symbol: className, specifier }],
    });
    if (problem === null) return;
    logger.warn(
      `${module.slice(1)} ${problem}, so it was left as it is. Add ${className}, from ${specifier}, to the "providers" of a module.`,
    );
  };
}
