import path from 'node:path';
import { Tree } from '@angular-devkit/schematics';
import { SchematicTestRunner, type UnitTestTree } from '@angular-devkit/schematics/testing';

// The test runner loads the spinner of package installations, an ES module that it never turns.
jest.mock('ora', () => ({}));

/** What a schematic made of an application, what it told, and how many tasks (installations) it left to do. */
export interface Ran {
  tree: UnitTestTree;
  messages: string[];
  tasks: number;
}

export function applicationOf(files: Record<string, string>): Tree {
  const tree = Tree.empty();
  for (const [name, text] of Object.entries(files)) tree.create(name, text);
  return tree;
}

/** Runs one of the package's schematics, as the Nest CLI does. */
export async function runSchematic(name: string, options: object, application: Tree): Promise<Ran> {
  const collection = path.join(__dirname, '../../libs/workflow/src/schematics/collection.json');
  const runner = new SchematicTestRunner('nestjs-pg-workflows', collection);
  const messages: string[] = [];
  runner.logger.subscribe(({ message }) => messages.push(message));
  const tree = await runner.runSchematic(name, { sourceRoot: 'src', ...options }, application);
  return { tree, messages, tasks: runner.tasks.length };
}
