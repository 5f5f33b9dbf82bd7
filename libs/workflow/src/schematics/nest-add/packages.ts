import type { Tree } from '@angular-devkit/schematics';

const MANIFEST = '/package.json';

type Manifest = Partial<Record<string, Record<string, string>>>;

/** What the package needs beside itself, in versions that go with the application's Nest. */
const PEERS: Record<11 | 12, Record<string, string>> = {
  // Left to itself npm takes @nestjs/schedule 12 for Nest 11 too: ES modules, which a Jest of CommonJS cannot load.
  11: { '@nestjs/schedule': '^6.0.0', '@nestjs/typeorm': '^11.0.0' },
  12: { '@nestjs/schedule': '^12.0.0', '@nestjs/typeorm': '^12.0.0' },
};
const COMMON_PEERS: Record<string, string> = {
  'class-transformer': '^0.5.1',
  // Both: what else the application has (mapped types, for one) may know the older one alone.
  'class-validator': '^0.14.0 || ^0.15.0',
  pg: '^8.0.0',
  typeorm: '^1.0.0',
};

/** The peers that `nest add` takes care of; Nest itself, rxjs and reflect-metadata are in every Nest application. */
export const peersFor = (nest: 11 | 12): Record<string, string> => ({ ...COMMON_PEERS, ...PEERS[nest] });

/**
 * Adds what is missing to `dependencies` of package.json.
 *
 * @returns the names of what it added
 * @throws when there is no package.json, or a Nest that the package does not work with
 */
export function addMissingPackages(tree: Tree): string[] {
  const text = tree.exists(MANIFEST) ? tree.readText(MANIFEST) : undefined;
  if (text === undefined) {
    throw new Error(
      'There is no package.json here. Run `nest add nestjs-pg-workflows` in the folder of a Nest application.',
    );
  }
  const manifest = tree.readJson(MANIFEST) as Manifest;
  const missing = Object.entries(peersFor(nestOf(tree, manifest))).filter(
    ([name]) => rangeOf(manifest, name) === undefined,
  );
  if (missing.length === 0) return [];
  const dependencies = { ...manifest.dependencies, ...Object.fromEntries(missing) };
  const sorted = Object.fromEntries(
    Object.entries(dependencies).toSorted(([one], [other]) => one.localeCompare(other, 'en')),
  );
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  ';
  const ending = /\n$/.exec(text)?.[0] ?? '';
  tree.overwrite(MANIFEST, `${JSON.stringify({ ...manifest, dependencies: sorted }, null, indent)}${ending}`);
  return missing.map(([name]) => name).toSorted();
}

function nestOf(tree: Tree, manifest: Manifest): 11 | 12 {
  const range = rangeOf(manifest, '@nestjs/core') ?? rangeOf(manifest, '@nestjs/common');
  const version = /\d+/.exec(range ?? '')?.[0] ?? /\d+/.exec(installedNest(tree))?.[0];
  if (version === '11' || version === '12') return Number(version) as 11 | 12;
  throw new Error(
    `nestjs-pg-workflows needs Nest 11 or 12; package.json has ${range === undefined ? 'no @nestjs/core' : `@nestjs/core ${range}`}.`,
  );
}

/** For a range that names no version: `latest`, `workspace:*`. */
function installedNest(tree: Tree): string {
  const path = '/node_modules/@nestjs/core/package.json';
  return tree.exists(path) ? (tree.readJson(path) as { version: string }).version : '';
}

function rangeOf(manifest: Manifest, name: string): string | undefined {
  return ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']
    .map((kind) => manifest[kind]?.[name])
    .find((range) => range !== undefined);
}
