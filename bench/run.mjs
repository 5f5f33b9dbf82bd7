// @ts-check
// npm run bench: see README.md.

import { assertBuilt, NotBuilt } from './built.mjs';

try {
  assertBuilt();
  // Only now, for all the rest imports the built package.
  const { run } = await import('./command.mjs');
  await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof NotBuilt ? `bench: ${error.message}` : error);
  process.exitCode = 2; // 1 is a figure that is worse.
}
