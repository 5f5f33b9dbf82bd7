import { posix } from 'node:path';
import type { Tree } from '@angular-devkit/schematics';
import ts from 'typescript';
import { sourcesOf, type Source } from './sources.js';

/** The sources that an application has, in a repository which may have others. */
export interface Scope {
  /** Its own; and files beside package.json, such as TypeORM's command line reads. */
  own: Source[];
  /** Those of nobody's application: libraries, which it may use. */
  shared: Source[];
}

interface Project {
  type?: string;
  root?: string;
  sourceRoot?: string;
}

/** Tells the application with that source root from what else the repository has. */
export function scopeOf(tree: Tree, sourceRoot: string): Scope {
  const projects = projectsOf(tree);
  const same = (one: Project) => folder(one.sourceRoot ?? '') === folder(sourceRoot);
  const root = folder(projects.find(same)?.root ?? sourceRoot.replace(/(^|\/)src\/?$/, ''));
  const others = projects.filter((one) => !same(one) && one.type !== 'library').map(placeOf);
  const libraries = projects.filter((one) => one.type === 'library').map(placeOf);
  const sources = [...sourcesOf(tree)].filter((source) => !isIn(source, others));
  if (root === '/') {
    const shared = sources.filter((source) => isIn(source, libraries));
    return { own: sources.filter((source) => !shared.includes(source)), shared };
  }
  const own = sources.filter((source) => isIn(source, [root]));
  const shared = sources.filter((source) => !isIn(source, [root]) && posix.dirname(source.path) !== '/');
  // Of an application without TypeORM they are another's.
  const hasTypeOrm = own.some(({ text }) => /from\s+['"](@nestjs\/)?typeorm['"]/.test(text));
  return { own: hasTypeOrm ? [...own, ...sources.filter((source) => isForTypeOrm(tree, source))] : own, shared };
}

const folder = (path: string): string => posix.join('/', path, '/');
const isIn = ({ path }: Source, folders: string[]): boolean => folders.some((one) => path.startsWith(one));

/** Where a project's sources are; one whose root is the repository's has them in its source root. */
function placeOf({ root = '', sourceRoot = '' }: Project): string {
  return folder(root) === '/' ? folder(sourceRoot || 'src') : folder(root);
}

function projectsOf(tree: Tree): Project[] {
  const path = '/nest-cli.json';
  if (!tree.exists(path)) return [];
  const { config } = ts.parseConfigFileTextToJson(path, tree.readText(path)) as {
    config?: { projects?: Record<string, Project> };
  };
  return Object.values(config?.projects ?? {});
}

/** A file beside package.json that one of its scripts names, as `typeorm -d data-source.ts` does. */
function isForTypeOrm(tree: Tree, { path }: Source): boolean {
  if (posix.dirname(path) !== '/') return false;
  const { scripts = {} } = tree.readJson('/package.json') as { scripts?: Record<string, string> };
  const name = posix.basename(path).replace(/\.[cm]?ts$/, '');
  return Object.values(scripts).some((script) => /typeorm|migration/.test(script) && script.includes(name));
}
