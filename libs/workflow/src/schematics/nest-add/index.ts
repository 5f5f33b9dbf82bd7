import { chain, type Rule, type SchematicContext, type Tree } from '@angular-devkit/schematics';
import { NodePackageInstallTask } from '@angular-devkit/schematics/tasks';
import { addToModule, type ModuleEntry } from '../application/module-file.js';
import { scopeOf } from '../application/scope.js';
import { calls } from '../application/sources.js';
import { addMigrations, type Outcome } from './migrations.js';
import { addMissingPackages } from './packages.js';
import { rootModuleOf } from './root-module.js';

/** What the Nest CLI gives, from flags and `nest-cli.json`. */
export interface NestAddOptions {
  sourceRoot?: string;
  /** Anything but false: of `nest add --skip-install nestjs-pg-workflows` the CLI makes a flag with a value. */
  skipInstall?: unknown;
}

const TYPE_ORM = `TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: true,
    })`;
const WORKFLOWS = 'WorkflowModule.forRoot()';
const FOR_ROOT = /\bWorkflowModule\s*\.\s*forRoot/;

const ENTRY_IMPORTS = {
  workflows: [{ symbol: 'WorkflowModule', specifier: 'nestjs-pg-workflows' }],
  typeOrm: [
    { symbol: 'TypeOrmModule', specifier: '@nestjs/typeorm' },
    { symbol: 'WorkflowMigrations', specifier: 'nestjs-pg-workflows/migrations' },
  ],
};

/** `nest add nestjs-pg-workflows`: the module, the migrations and the packages of an application; again, it changes nothing. */
export function nestAdd({ sourceRoot = 'src', skipInstall }: NestAddOptions): Rule {
  const installs = skipInstall === undefined || skipInstall === false;
  return chain([
    (tree: Tree, context: SchematicContext) => {
      const packages = addMissingPackages(tree);
      if (packages.length > 0 && installs) context.addTask(new NodePackageInstallTask());
      const scope = scopeOf(tree, sourceRoot);
      const hadModule = [...scope.own, ...scope.shared].some((source) => calls(source, FOR_ROOT));
      const migrations = addMigrations(tree, scope);
      const { logger } = context;
      if (packages.length > 0) {
        logger.info(`package.json: added ${packages.join(', ')}${installs ? '' : '; install them'}.`);
      }
      if (migrations.is === 'other-database') {
        logger.warn(OTHER_DATABASE);
        return;
      }
      const module = rootModuleOf(tree, sourceRoot);
      const problem = hadModule ? null : addModules(tree, module, migrations);
      if (problem !== null) logger.warn(byHand(problem, migrations));
      if (migrations.is === 'by-hand') logger.warn(MIGRATIONS_BY_HAND);
      logger.info(
        hadModule && migrations.is === 'present' && packages.length === 0 ? NOTHING_TO_DO : nextSteps(migrations),
      );
    },
  ]);
}

/** @returns why the module could not be edited, or null */
function addModules(tree: Tree, module: string | null, migrations: Outcome): string | null {
  if (module === null) return 'No module was found that main.ts makes the application of.';
  const entry: ModuleEntry = { list: 'imports', entries: [WORKFLOWS], imports: ENTRY_IMPORTS.workflows };
  if (migrations.is === 'no-data-source') {
    entry.entries = [TYPE_ORM, WORKFLOWS];
    entry.imports = [...ENTRY_IMPORTS.typeOrm, ...ENTRY_IMPORTS.workflows];
  }
  const problem = addToModule(tree, module, entry);
  return problem === null ? null : `${module.slice(1)} ${problem}, so it was left as it is.`;
}

const MIGRATIONS_BY_HAND =
  'The options of your DataSource are not where they can be edited. Add ...WorkflowMigrations, from nestjs-pg-workflows/migrations, to its ' +
  '"migrations"; and without autoLoadEntities ...WorkflowEntities, from nestjs-pg-workflows, to its "entities".';

const OTHER_DATABASE =
  'The workflow tables need PostgreSQL, and the DataSource here is of another database, so it was left as it is. Add one by hand, to the "imports" of your ' +
  'root module: TypeOrmModule.forRoot({ name: "workflows", type: "postgres", url, entities: [...WorkflowEntities], migrations: [...WorkflowMigrations], ' +
  'migrationsRun: true }), and WorkflowModule.forRoot({ connection: "workflows" }).';

const NOTHING_TO_DO = 'nestjs-pg-workflows is set up here already.';

function byHand(problem: string, migrations: Outcome): string {
  const typeOrm =
    migrations.is === 'no-data-source'
      ? ', and before it TypeOrmModule.forRoot({ type: "postgres", url, autoLoadEntities: true, migrations: [...WorkflowMigrations], migrationsRun: true })'
      : '';
  return `${problem} Add WorkflowModule.forRoot(), from nestjs-pg-workflows, to the "imports" of your root module${typeOrm}.`;
}

function nextSteps(migrations: Exclude<Outcome, { is: 'other-database' }>): string {
  const tables = {
    'no-data-source': 'Set DATABASE_URL to your PostgreSQL: the tables are made as the application starts.',
    present: 'The workflow tables are made by your migrations.',
    'by-hand': 'Then run your migrations: they make the workflow tables.',
    added:
      migrations.is === 'added' && migrations.run
        ? 'The workflow tables are made as the application starts.'
        : 'Run your migrations: they make the workflow tables.',
  }[migrations.is];
  return [
    'Next:',
    `  1. ${tables}`,
    '  2. Call app.enableShutdownHooks() in main.ts, so that steps may finish before a stop.',
    '  3. npx nest g -c nestjs-pg-workflows workflow order',
  ].join('\n');
}
