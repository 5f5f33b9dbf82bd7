// @ts-check
// Writes docs/transitions.md from the transition table in libs/workflow/src/model/states.ts.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

const { outputFiles } = await build({
  entryPoints: [join(root, 'test/support/transitions-page.ts')],
  bundle: true,
  format: 'esm',
  write: false,
  logLevel: 'warning',
});
const bundle = Buffer.from(outputFiles[0].contents).toString('base64');
const { transitionsPage } = await import(`data:text/javascript;base64,${bundle}`);
writeFileSync(join(root, 'docs/transitions.md'), transitionsPage());
