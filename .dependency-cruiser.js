// @ts-check
// The import direction of the rooms under libs/workflow/src. Type-only imports are free; unit tests too.

/** What a room may import, besides itself and errors.ts. @type {Record<string, string[]>} */
const below = {
  model: [],
  definition: ['model'],
  registry: ['definition', 'model', 'options'],
  store: ['definition', 'model', 'registry', 'options'],
  transition: ['definition', 'model', 'registry', 'store', 'observe', 'options'],
  observe: ['definition', 'model'],
};
const core = ['definition', 'model', 'registry', 'store', 'transition', 'observe', 'options'];
Object.assign(below, {
  engine: core,
  // The background process around the engine: nobody imports it but what wires the module.
  worker: [...core, 'engine'],
  service: core,
  insights: core,
  // What stands before the service and the reads, for REST and MCP alike.
  operating: [...core, 'service'],
  admin: [...core, 'service', 'insights', 'operating'],
  mcp: [...core, 'service', 'insights', 'operating'],
  testing: [...core, 'service', 'insights', 'engine'],
  // A process of its own around the application: it opens the module without what that starts.
  cli: [...core, 'service', 'insights', 'operating', 'wiring'],
  // Code for the Nest CLI, which loads it: it changes an application's files, and knows nothing of running workflows.
  schematics: [],
});

const src = '^libs/workflow/src/';
/** Files at the top that rooms may name. @type {Record<string, string>} */
const atTheTop = {
  options: `${src}workflow\\.(options|option-checks)\\.ts$`,
  wiring: `${src}workflow\\.(module|providers|runtime)\\.ts$`,
};
/** @param {string} name */
const place = (name) => atTheTop[name] ?? `${src}${name}/`;
const errors = `${src}errors\\.ts$`;
const notTypeOnly = { dependencyTypesNot: ['type-only'] };

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...Object.entries(below).map(([room, rooms]) => ({
      name: `room-${room}`,
      comment: `${room} imports only: ${['errors', ...rooms].join(', ')}`,
      severity: 'error',
      from: { path: place(room), pathNot: '\\.spec\\.ts$' },
      to: { path: src, pathNot: [place(room), errors, ...rooms.map(place)], ...notTypeOnly },
    })),
    {
      name: 'room-unknown',
      comment: 'a new room (or file at the root of src) needs a line in .dependency-cruiser.js',
      severity: 'error',
      from: {},
      to: {
        path: src,
        pathNot: [
          ...Object.keys(below).map(place),
          `${src}(errors|index|workflow\\.health|workflow\\.metrics|workflow\\.module|workflow\\.options|workflow\\.option-checks|workflow\\.providers|workflow\\.runtime)(\\.spec)?\\.ts$`,
        ],
      },
    },
    {
      name: 'errors-import-nobody',
      severity: 'error',
      from: { path: errors },
      to: { path: src, ...notTypeOnly },
    },
    {
      name: 'options-import-little',
      severity: 'error',
      from: { path: place('options') },
      to: { path: src, pathNot: [errors, place('options'), place('definition'), place('model')], ...notTypeOnly },
    },
    {
      name: 'definition-knows-no-database',
      comment: 'what a workflow class says needs neither a database nor a running Nest application',
      severity: 'error',
      from: { path: place('definition'), pathNot: '\\.spec\\.ts$' },
      to: { path: 'node_modules/(typeorm|pg|@nestjs/(core|typeorm|schedule))/', ...notTypeOnly },
    },
    {
      name: 'superjson-in-one-place',
      comment: 'superjson is an ES module: the build bundles the one file that imports it',
      severity: 'error',
      from: { path: '^libs/', pathNot: `${src}model/superjson(\\.spec)?\\.ts$` },
      to: { path: 'node_modules/superjson/' },
    },
    {
      name: 'mcp-is-an-entry-of-its-own',
      comment: 'whoever does not import nestjs-pg-workflows/mcp needs no MCP SDK',
      severity: 'error',
      from: { path: '^libs/', pathNot: place('mcp') },
      to: { path: [place('mcp'), 'node_modules/@modelcontextprotocol/'] },
    },
    {
      name: 'mcp-sdk-in-one-place',
      comment: 'an optional peer: it is loaded where its absence is told of',
      severity: 'error',
      from: { path: '^libs/', pathNot: `${src}mcp/sdk(\\.spec)?\\.ts$` },
      to: { path: 'node_modules/@modelcontextprotocol/', ...notTypeOnly },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'library-stands-alone',
      severity: 'error',
      from: { path: '^libs/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^(apps|test|bench|scripts|migrations)/' },
    },
    {
      name: 'unit-tests-need-no-database',
      severity: 'error',
      from: { path: '^libs/.*\\.spec\\.ts$' },
      to: { path: '^(apps|bench|scripts)/' },
    },
    {
      name: 'migrations-stand-alone',
      comment: 'a migration says what was true when it was written, whatever the entities became',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { path: '^(libs|apps|test|bench)/' },
    },
    {
      name: 'declared-dependencies',
      comment: "what the library imports is in libs/workflow/package.json, or its users don't have it",
      severity: 'error',
      from: { path: '^libs/', pathNot: [`${src}model/superjson\\.ts$`, '\\.spec\\.ts$'] },
      // An optional peer counts as "no package" too.
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'resolvable',
      comment: 'bench/peers has packages of its own, which need not be installed',
      severity: 'error',
      from: { pathNot: '^bench/peers/adapters/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^((libs|apps)/[^/]+/dist|reports|coverage|docs/api)/' },
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: false,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['require', 'node', 'default', 'types'] },
  },
};
