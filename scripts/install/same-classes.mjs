// @ts-check
// Copied into a fresh application and run there: `import` and `require` of the package must give the same classes.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

for (const name of ['nestjs-pg-workflows', 'nestjs-pg-workflows/mcp', 'nestjs-pg-workflows/migrations']) {
  const imported = await import(name);
  const required = require(name);
  const names = Object.keys(required);
  assert.ok(names.length > 0, `${name} exports nothing`);
  for (const key of names)
    assert.equal(imported[key], required[key], `${name}: ${key} differs between import and require`);
}
