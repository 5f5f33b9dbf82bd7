// @ts-check
// Three projects: `unit` needs nothing; `pg` starts one PostgreSQL for the whole run and gives each suite its own database; `browser` has that too, and
// opens the dashboard in Chromium.

const { mkdirSync } = require('node:fs');
const path = require('node:path');

// `--outputFile=reports/jest.json` does not make its folder.
mkdirSync(path.join(__dirname, 'reports'), { recursive: true });

/**
 * @param {object} parser
 * @returns {[string, unknown]}
 */
const swc = (parser) => [
  '@swc/jest',
  {
    jsc: {
      parser,
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  },
];

/** @type {import('jest').Config} */
const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json', 'node'],
  moduleNameMapper: {
    '^nestjs-pg-workflows$': '<rootDir>/libs/workflow/src/index.ts',
    '^nestjs-pg-workflows/mcp$': '<rootDir>/libs/workflow/src/mcp/index.ts',
    '^nestjs-pg-workflows/migrations$': '<rootDir>/migrations/index.ts',
    '^nestjs-pg-workflows/testing$': '<rootDir>/libs/workflow/src/testing/index.ts',
    // An import of ours may name the file that will be emitted (x.js); the source beside it is x.ts.
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'],
  },
  transform: {
    '^.+\\.ts$': swc({ syntax: 'typescript', decorators: true }),
    '^.+\\.m?js$': swc({ syntax: 'ecmascript' }),
  },
  // ES-module-only packages: Jest cannot require() them on Node < 24.9, so SWC makes CommonJS of them too.
  transformIgnorePatterns: ['/node_modules/(?!(@nestjs|superjson|copy-anything|is-what|magic-string)/)'],
  modulePathIgnorePatterns: ['<rootDir>/(libs|apps)/[^/]+/dist/'],
  testTimeout: 120_000,
};

/** Jest starts one for both projects: it is the same file. @type {import('jest').Config} */
const withPostgres = {
  ...shared,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/** @type {import('jest').Config} */
module.exports = {
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/test/support/not-tested-reporter.mjs'],
  testTimeout: shared.testTimeout,
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/libs/**/*.spec.ts', '<rootDir>/scripts/*.spec.ts'] },
    {
      ...withPostgres,
      displayName: 'pg',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/browser/'],
    },
    { ...withPostgres, displayName: 'browser', testMatch: ['<rootDir>/test/browser/*.test.ts'] },
  ],
};
