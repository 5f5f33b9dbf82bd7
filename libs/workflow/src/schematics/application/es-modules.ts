import type { Tree } from '@angular-devkit/schematics';

/** Whether the application's files are ES modules, whose relative imports name the file that will be emitted: `./x.js`. */
export function hasEsModules(tree: Tree): boolean {
  if (!tree.exists('/package.json')) return false;
  return (tree.readJson('/package.json') as { type?: string }).type === 'module';
}
