// @ts-check
// Fresh applications, made by the Nest CLI's own templates, and the small workflow that is added to them.

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, StepFailed } from './command.mjs';

const require = createRequire(import.meta.url);
const additions = fileURLToPath(new URL('app', import.meta.url));

/**
 * @typedef {object} Template
 * @property {string} name
 * @property {string} says
 * @property {string[]} command makes the application in a folder of the template's name
 * @property {string[]} packages what a person has before the package: `nest add` brings the rest
 * @property {string} typeorm its major version, from `packages` or from `nest add`
 * @property {string} [otherTypeorm] tried after that
 * @property {boolean} esm
 * @property {boolean} [hasTypeOrm] before the package, with migrations of its own in a folder
 * @property {boolean} [checksDeclarations] the declarations of all its packages are without errors
 * @property {string | false} testsNotRun why the template's own test runner cannot load Nest here
 */

/** @returns {Template[]} */
export function templates() {
  const cli = path.join(path.dirname(require.resolve('@nestjs/cli/package.json')), 'bin/nest.js');
  // What `nest new` itself runs: it asks for the module system only at a terminal, and has no flag for it.
  const schematics = require.resolve('@angular-devkit/schematics-cli/bin/schematics.js', { paths: [cli] });
  const [major, minor] = process.versions.node.split('.').map(Number);
  const jestRequiresModules = major > 24 || (major === 24 && minor >= 9);
  const own = ['--skip-git', '--skip-install', '--package-manager', 'npm'];
  return [
    {
      name: 'nest12-esm',
      says: 'Nest 12, ES modules, Vitest (the template that `nest new` takes by itself)',
      command: [process.execPath, cli, 'new', 'nest12-esm', ...own, '--no-observe'],
      packages: ['@modelcontextprotocol/sdk', '@nestjs/platform-fastify@12'],
      typeorm: '1',
      otherTypeorm: '0.3',
      esm: true,
      checksDeclarations: true,
      testsNotRun: false,
    },
    {
      name: 'nest11-cjs',
      says: 'Nest 11, CommonJS, Jest, TypeORM 0.3 with migrations in a folder',
      command: ['npx', '--yes', '@nestjs/cli@11', 'new', 'nest11-cjs', ...own],
      packages: ['@nestjs/typeorm@11', 'typeorm@0.3', 'pg', '@modelcontextprotocol/sdk', '@nestjs/platform-fastify@11'],
      typeorm: '0.3',
      otherTypeorm: '1',
      esm: false,
      hasTypeOrm: true,
      testsNotRun: false,
    },
    {
      name: 'nest12-cjs',
      says: 'Nest 12, CommonJS, Jest',
      command: [
        process.execPath,
        schematics,
        '@nestjs/schematics:application',
        '--name=nest12-cjs',
        '--type=cjs',
        '--language=ts',
        '--package-manager=npm',
      ],
      packages: ['@modelcontextprotocol/sdk', '@nestjs/platform-fastify@12'],
      typeorm: '1',
      esm: false,
      testsNotRun:
        !jestRequiresModules &&
        `Jest can require() ES modules, which Nest 12's packages are, from Node 24.9 on; this is ${process.versions.node}`,
    },
  ];
}

/**
 * @param {Template} template
 * @param {string} folder where the application's folder is made
 * @returns {Promise<string>} the application's folder
 */
export async function generate(template, folder) {
  await run('nest new', template.command, { cwd: folder });
  const app = path.join(folder, template.name);
  if (template.hasTypeOrm) {
    cpSync(fileURLToPath(new URL('typeorm', import.meta.url)), path.join(app, 'src'), { recursive: true });
    edit(path.join(app, 'src/app.module.ts'), (text) => {
      if (!text.includes('imports: []')) throw new StepFailed('nest new', "the template's AppModule has changed", text);
      const imports = `import { TypeOrmModule } from '@nestjs/typeorm';\nimport { database } from './database';\n`;
      return imports + text.replace('imports: []', 'imports: [TypeOrmModule.forRoot(database)]');
    });
  }
  return app;
}

/**
 * Adds `app/`, beside what `nest add` and `nest generate` have made, and imports its module.
 *
 * @param {Template} template
 * @param {string} app
 */
export function addWorkflow(template, app) {
  const src = path.join(app, 'src');
  const ours = readdirSync(additions).filter((name) => /(?<!\.d)\.ts$/.test(name));
  for (const name of ours) cpSync(path.join(additions, name), path.join(src, name));
  if (!template.esm) {
    for (const name of ours) edit(path.join(src, name), (text) => text.replace(/(from '\.[^']*)\.js'/g, "$1'"));
  }
  edit(path.join(src, 'main.ts'), onEitherPlatform);
  const extension = template.esm ? '.js' : '';
  edit(path.join(src, 'app.module.ts'), (text) => {
    const added = 'WorkflowModule.forRoot()';
    if (!text.includes(added))
      throw new StepFailed('add a workflow', `nest add has not written ${added} into AppModule`, text);
    return `import { GreetingModule } from './greeting.module${extension}';\n${text.replace(added, `${added}, GreetingModule`)}`;
  });
}

/**
 * The template's main.ts, which then takes Fastify where HTTP_PLATFORM says so.
 *
 * @param {string} text
 */
function onEitherPlatform(text) {
  const create = 'NestFactory.create(AppModule';
  if (!text.includes(create)) throw new StepFailed('add a workflow', "the template's main.ts has changed", text);
  const imports = `import { FastifyAdapter } from '@nestjs/platform-fastify';\nimport { ExpressAdapter } from '@nestjs/platform-express';\n`;
  const adapter = `process.env.HTTP_PLATFORM === 'fastify' ? new FastifyAdapter() : new ExpressAdapter()`;
  return imports + text.replace(create, `${create}, ${adapter}`);
}

/**
 * @param {string} file
 * @param {(text: string) => string} change
 */
const edit = (file, change) => writeFileSync(file, change(readFileSync(file, 'utf8')));
