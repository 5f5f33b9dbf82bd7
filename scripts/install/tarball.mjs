// @ts-check
// Packs the library as `npm publish` would, and looks at what is in the package.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { run, StepFailed } from './command.mjs';

const MUST_HAVE = [
  'LICENSE',
  'CHANGELOG.md',
  'docs/writing-workflows.md',
  'dist/index.js',
  'dist/index.d.ts',
  'dist/mcp/index.js',
  'dist/mcp/index.d.ts',
  'dist/cli/main.js',
  'dist/migrations/index.js',
  'dist/migrations/index.d.ts',
  'dist/schematics/collection.json',
  'dist/schematics/nest-add/schema.json',
  'dist/schematics/workflow/schema.json',
  'dist/schematics/workflow/files/__name__.workflow.ts.template',
  'monitoring/alerts.rules.yml',
  'monitoring/grafana-dashboard.json',
  'dist/dashboard/index.html',
  'dist/dashboard/third-party-licenses.md',
];
const DASHBOARD = /^dist\/dashboard\/(index\.html|third-party-licenses\.md|assets\/[\w.-]+\.(js|css|svg|woff2))$/;
const SCHEMATICS = /^dist\/schematics\/([\w-]+\/)*[\w.-]+\.(json|template)$/;
const MAY_HAVE =
  /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|dist\/.+\.(js|js\.map|d\.ts)|docs\/.+\.md|monitoring\/[\w.-]+\.(json|yml|md))$/;
// The alert rules' own tests are for whoever changes the rules.
const MUST_NOT_HAVE = /\.(spec|test)\.(?!yml$)|\.tsbuildinfo$/;
// Far above what there is: a whole dependency or a test's recordings would pass it.
const MAX_UNPACKED = 6_000_000;

/**
 * @param {string} root
 * @param {string} folder where the tarball goes
 * @returns {Promise<{ file: string, summary: string }>}
 */
export async function pack(root, folder) {
  const step = 'pack';
  // The package's own `prepack` builds it.
  const printed = await run(step, ['npm', 'pack', '--json', '--pack-destination', folder], {
    cwd: path.join(root, 'libs/workflow'),
  });
  /** @type {{ filename: string, size: number, unpackedSize: number, files: { path: string }[] }} */
  const packed = onlyPackage(JSON.parse(printed.slice(printed.search(/^[[{]/m))));
  const paths = packed.files.map((file) => file.path);

  const expected = existsSync(path.join(root, 'README.md')) ? [...MUST_HAVE, 'README.md'] : MUST_HAVE;
  const missing = expected.filter((name) => !paths.includes(name));
  const strange = paths.filter((name) => MUST_NOT_HAVE.test(name) || !may(name));
  if (missing.length) throw new StepFailed(step, `the tarball lacks ${missing.join(', ')}`);
  if (strange.length) throw new StepFailed(step, `the tarball has what it should not: ${strange.join(', ')}`);
  if (packed.unpackedSize > MAX_UNPACKED) {
    throw new StepFailed(step, `${kilobytes(packed.unpackedSize)} unpacked: more than ${kilobytes(MAX_UNPACKED)}`);
  }
  return {
    file: path.join(folder, packed.filename),
    summary: `${paths.length} files, ${kilobytes(packed.size)}, ${kilobytes(packed.unpackedSize)} unpacked`,
  };
}

/**
 * npm 12 gives an object by package name where older ones gave an array.
 *
 * @param {any} answer
 */
const onlyPackage = (answer) => Object.values(answer)[0];

/** @param {string} name */
const may = (name) => [MAY_HAVE, DASHBOARD, SCHEMATICS].some((pattern) => pattern.test(name));

/** @param {number} bytes */
const kilobytes = (bytes) => `${Math.round(bytes / 1000)} kB`;

/**
 * The package as it is installed: its maps bring their sources, and it needs nothing that it does not declare.
 *
 * @param {string} step
 * @param {string} installed
 */
export function checkInstalled(step, installed) {
  const manifest = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
  const declared = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  const problems = [];
  const [picture] =
    /!\[[^\]]*\]\((?!https?:)[^)]*\)/.exec(readFileSync(path.join(installed, 'README.md'), 'utf8')) ?? [];
  if (picture) problems.push(`README.md shows a picture that is not in the package: ${picture}`);
  for (const name of readdirSync(path.join(installed, 'dist'), { recursive: true }).map(String)) {
    // What browsers load: it imports nothing but itself.
    if (name.startsWith('dashboard')) continue;
    const file = path.join(installed, 'dist', name);
    if (name.endsWith('.map')) {
      const { sources, sourcesContent } = JSON.parse(readFileSync(file, 'utf8'));
      if (sourcesContent?.length !== sources.length || sourcesContent.includes(null)) {
        problems.push(`dist/${name} lacks its sources`);
      }
    } else if (/\.(js|d\.ts)$/.test(name)) {
      for (const [, from] of readFileSync(file, 'utf8').matchAll(
        /(?:\brequire\(|\bimport\(|^(?:import|export)\b.*\bfrom )["']([^."'][^"']*)["']/gm,
      )) {
        const dependency = from.split('/', from.startsWith('@') ? 2 : 1).join('/');
        if (!from.startsWith('node:') && dependency !== manifest.name && !declared.has(dependency)) {
          problems.push(`dist/${name} imports ${from}, which package.json does not declare`);
        }
      }
    }
  }
  if (problems.length) throw new StepFailed(step, 'the package is not whole', problems.join('\n'));
}
