// @ts-check
// Builds the package to libs/workflow/dist (CommonJS, types, source maps, the dashboard) and the demo to apps/demo/dist.

import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildDashboard } from './build-dashboard.mjs';
import { packDocs } from './package-docs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const library = join(root, 'libs/workflow');
const demo = join(root, 'apps/demo');
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** @param {string} project a tsconfig, relative to the workspace */
function compile(project) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, project)], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) {
    console.error(`build: ${project} does not compile (the compiler's words are above)`);
    process.exit(1);
  }
}

/** @param {string} folder */
const hasSources = (folder) =>
  existsSync(folder) && readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith('.ts'));

rmSync(join(library, 'dist'), { recursive: true, force: true });
compile('libs/workflow/tsconfig.build.json');
if (hasSources(join(root, 'migrations'))) compile('libs/workflow/tsconfig.migrations.json');

// superjson is an ES module, which a user's Jest cannot require() on Node < 24.9: the one file that
// imports it becomes a CommonJS bundle with superjson inside.
// Our own files stay outside the bundle: a second copy of an error class would not be `instanceof` the first.
const serializer = join(library, 'src/model/superjson.ts');
if (existsSync(serializer)) {
  await build({
    entryPoints: [serializer],
    outfile: join(library, 'dist/model/superjson.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    sourcemap: true,
    sourcesContent: true,
    banner: { js: '/*! Contains superjson and copy-anything, MIT, (c) their authors. */' },
    plugins: [
      {
        name: 'our-own-files-stay-outside',
        setup(bundler) {
          bundler.onResolve({ filter: /^\.{1,2}\// }, ({ importer, path }) =>
            importer === serializer ? { path, external: true } : undefined,
          );
        },
      },
    ],
    logLevel: 'warning',
    tsconfig: join(library, 'tsconfig.build.json'),
  });
}

// What the Nest CLI reads beside their code: the collection, the options of each, and the templates.
cpSync(join(library, 'src/schematics'), join(library, 'dist/schematics'), {
  recursive: true,
  filter: (file) => statSync(file).isDirectory() || /\.(json|template)$/.test(file),
});

// The page and its assets, as `admin/dashboard-files.ts` reads them.
const dashboard = buildDashboard();
if (dashboard !== null) cpSync(dashboard, join(library, 'dist/dashboard'), { recursive: true });

copyFileSync(join(root, 'LICENSE'), join(library, 'LICENSE'));
packDocs(root, library);

if (existsSync(join(demo, 'tsconfig.build.json')) && hasSources(join(demo, 'src'))) {
  rmSync(join(demo, 'dist'), { recursive: true, force: true });
  compile('apps/demo/tsconfig.build.json');
}
