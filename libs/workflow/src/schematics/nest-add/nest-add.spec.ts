import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Tree } from '@angular-devkit/schematics';
import { applicationOf, runSchematic, type Ran } from '../../../../../test/support/schematics.js';
import { peersFor } from './packages.js';

const PACKAGE = { name: 'shop', dependencies: { '@nestjs/core': '^12.0.1', rxjs: '^7.8.1' } };
const MAIN = `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
const app = await NestFactory.create(AppModule, { bufferLogs: true });
await app.listen(3000);
`;
const MODULE = `import { Module } from '@nestjs/common';
import { AppService } from './app.service.js';

@Module({
  imports: [],
  providers: [AppService],
})
export class AppModule {}
`;
/** With a DataSource of these options, as the Nest documentation has it. */
const withDataSource = (options: string) => `import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      ${options}
    }),
  ],
})
export class AppModule {}
`;
const MIGRATION = 'export class CreateOrders1700000000000 {}\n';

const nestAdd = (files: Record<string, string>, options: object = {}): Promise<Ran> =>
  again(
    applicationOf({
      'package.json': JSON.stringify(PACKAGE, null, 2),
      'src/main.ts': MAIN,
      'src/app.module.ts': MODULE,
      ...files,
    }),
    options,
  );

const again = (tree: Tree, options: object = {}): Promise<Ran> => runSchematic('nest-add', options, tree);

const dependenciesOf = (tree: Tree) => (tree.readJson('package.json') as unknown as typeof PACKAGE).dependencies;

describe('nest add', () => {
  it('ADD-01 gives a fresh application the two modules and the packages, and says what is next', async () => {
    const { tree, messages, tasks } = await nestAdd({});

    expect(tree.readContent('src/app.module.ts')).toBe(`import { Module } from '@nestjs/common';
import { AppService } from './app.service.js';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { WorkflowModule } from 'nestjs-pg-workflows';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: true,
    }),
    WorkflowModule.forRoot(),
  ],
  providers: [AppService],
})
export class AppModule {}
`);
    expect(dependenciesOf(tree)).toEqual({ ...PACKAGE.dependencies, ...peersFor(12) });
    expect(tasks).toBe(1);
    expect(messages.join('\n')).toMatch(
      /added @nestjs\/schedule, .*Next:\n.*DATABASE_URL.*enableShutdownHooks.*npx nest g -c/s,
    );
  });

  it.each([
    ['a fresh application', {}],
    [
      'one whose migrations are in a folder',
      {
        'src/app.module.ts': withDataSource(`migrations: ['dist/migrations/*.js'],`),
        'src/migrations/1700000000000-create-orders.ts': MIGRATION,
      },
    ],
    ['one with a list of migrations', { 'src/app.module.ts': withDataSource('migrations: [CreateOrders],') }],
  ])('ADD-02 changes nothing the second time, in %s', async (_, files) => {
    const first = await nestAdd(files);
    const second = await again(first.tree);

    for (const file of first.tree.files) expect(second.tree.readContent(file)).toBe(first.tree.readContent(file));
    expect(second.tree.files).toEqual(first.tree.files);
    expect(second.tasks).toBe(0);
    expect(second.messages).toEqual(['nestjs-pg-workflows is set up here already.']);
  });

  it('ADD-01 takes the packages that go with Nest 11, and leaves those that are there', async () => {
    const dependencies = { '@nestjs/core': '11.1.3', typeorm: '0.3.28' };
    const { tree, tasks } = await nestAdd({ 'package.json': JSON.stringify({ dependencies }) }, { skipInstall: true });

    expect(dependenciesOf(tree)).toEqual({ ...peersFor(11), ...dependencies });
    expect(tasks).toBe(0);
  });

  it('ADD-01 knows every peer that an application must have', () => {
    const manifest = JSON.parse(readFileSync(path.join(__dirname, '../../../package.json'), 'utf8')) as Record<
      'peerDependencies' | 'peerDependenciesMeta',
      object
    >;
    const optional = Object.keys(manifest.peerDependenciesMeta);
    const inEveryApplication = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
    const required = Object.keys(manifest.peerDependencies).filter((name) => !optional.includes(name));

    expect([...Object.keys(peersFor(11)), ...inEveryApplication].toSorted()).toEqual(required.toSorted());
    expect(Object.keys(peersFor(12))).toEqual(Object.keys(peersFor(11)));
  });

  it.each([
    ['no package.json', (tree: Tree) => tree.delete('package.json'), 'in the folder of a Nest application'],
    [
      'Nest 10',
      (tree: Tree) => tree.overwrite('package.json', '{"dependencies":{"@nestjs/core":"^10.4.0"}}'),
      'needs Nest 11 or 12; package.json has @nestjs/core ^10.4.0',
    ],
    ['no Nest', (tree: Tree) => tree.overwrite('package.json', '{}'), 'package.json has no @nestjs/core'],
  ])('ADD-05 refuses to work with %s', async (_, change, message) => {
    const tree = applicationOf({ 'package.json': JSON.stringify(PACKAGE) });
    change(tree);
    await expect(again(tree)).rejects.toThrow(message);
  });

  it('ADD-01 finds the root module by main.ts, wherever it is', async () => {
    const { tree } = await nestAdd(
      {
        'apps/shop/src/main.ts': MAIN.replace('./app.module.js', './root/shop.module'),
        'apps/shop/src/root/shop.module.ts': MODULE,
      },
      { sourceRoot: 'apps/shop/src' },
    );

    expect(tree.readContent('apps/shop/src/root/shop.module.ts')).toContain('WorkflowModule.forRoot(),');
    expect(tree.readContent('src/app.module.ts')).toBe(MODULE);
  });
});

describe('nest add, in an application with TypeORM', () => {
  it('ADD-03 adds to a list of migrations, and to a list of entities', async () => {
    const { tree, messages } = await nestAdd({
      'src/app.module.ts': withDataSource('entities: [Order],\n      migrations: [CreateOrders],'),
    });

    const text = tree.readContent('src/app.module.ts');
    expect(text).toContain(
      'entities: [...WorkflowEntities, Order],\n      migrations: [...WorkflowMigrations, CreateOrders],',
    );
    expect(text).toContain("import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';");
    expect(text).toContain("import { WorkflowEntities } from 'nestjs-pg-workflows';");
    expect(text).toContain('}),\n    WorkflowModule.forRoot(),\n  ],');
    expect(messages.join('\n')).toContain('Run your migrations');
  });

  it('ADD-03 has the migrations run as it starts where there were none', async () => {
    const { tree, messages } = await nestAdd({ 'src/app.module.ts': withDataSource('url,\n      synchronize: true,') });

    expect(tree.readContent('src/app.module.ts')).toContain(`synchronize: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: true,
      autoLoadEntities: true,
    }),`);
    expect(messages.join('\n')).toContain('made as the application starts');
  });

  it.each(["['dist/migrations/*.js']", "[path.join(__dirname, 'migrations', '*.js')]", 'globs'])(
    'ADD-03 puts a file into the folder that %s looks in',
    async (globs) => {
      const { tree } = await nestAdd({
        'src/app.module.ts': withDataSource(`autoLoadEntities: true,\n      migrations: ${globs},`),
        'data-source.ts': `import { DataSource } from 'typeorm';\nexport default new DataSource({ type: 'postgres', migrations: ${globs} });\n`,
        'src/migrations/1700000000000-create-orders.ts': MIGRATION,
      });

      expect(tree.readContent('src/migrations/1764500000000-nestjs-pg-workflows.ts')).toContain(
        "export { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';",
      );
      expect(tree.readContent('src/app.module.ts')).toContain(`migrations: ${globs},`);
      expect(tree.readContent('data-source.ts')).not.toContain('Workflow');
    },
  );

  it('ADD-03 adds to what TypeORM’s command line reads too', async () => {
    const source = `import { DataSource } from 'typeorm';\nexport default new DataSource({ type: 'postgres', migrations: [] });\n`;
    const { tree } = await nestAdd({
      'src/app.module.ts': withDataSource('autoLoadEntities: true,'),
      'data-source.ts': source,
    });

    expect(tree.readContent('data-source.ts')).toContain("type: 'postgres', migrations: [...WorkflowMigrations] }");
    expect(tree.readContent('src/app.module.ts')).toContain('migrations: [...WorkflowMigrations]');
  });

  it.each([
    [
      'their options come from elsewhere',
      { 'src/app.module.ts': withDataSource('').replace(/\{\n\s*type[^}]*\}/, 'options') },
    ],
    ['there are two', { 'src/one.ts': withDataSource('url,'), 'src/other.ts': withDataSource('url,') }],
    ['migrations are a variable, and no folder has any', { 'src/app.module.ts': withDataSource('migrations: mine,') }],
  ])('ADD-04 says what to do by hand about the DataSource where %s', async (_, files) => {
    const { tree, messages } = await nestAdd(files);

    expect(messages.join('\n')).toMatch(
      /^The options of your DataSource .* Add \.\.\.WorkflowMigrations, from nestjs-pg-workflows\/migrations/m,
    );
    expect(tree.readContent('src/app.module.ts')).toContain('WorkflowModule.forRoot()');
    for (const file of tree.files) expect(tree.readContent(file)).not.toContain('WorkflowMigrations');
  });

  it.each([
    ['"imports" is not a list written there', MODULE.replace('imports: []', 'imports: shared')],
    ['"imports" is not a list written there', MODULE.replace('imports: []', 'imports')],
    ['whose metadata is written elsewhere', MODULE.replace(/@Module\(\{[^}]*\}\)/, '@Module(metadata)')],
    ['takes metadata of its @Module() from elsewhere', MODULE.replace('imports: []', '...shared')],
    ['has more than one @Module()', `${MODULE}\n@Module({})\nexport class Other {}\n`],
  ])('ADD-04 says what to do by hand where the root module %s', async (problem, text) => {
    const { tree, messages } = await nestAdd({ 'src/app.module.ts': text });

    expect(tree.readContent('src/app.module.ts')).toBe(text);
    expect(messages.join('\n')).toMatch(
      /src\/app\.module\.ts .*so it was left as it is\. Add WorkflowModule\.forRoot\(\).*TypeOrmModule\.forRoot/,
    );
    expect(messages.join('\n')).toContain(problem);
  });
});
