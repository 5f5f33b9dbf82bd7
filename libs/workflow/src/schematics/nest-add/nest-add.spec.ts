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

describe('nest add, however the root module is written', () => {
  const TYPE_ORM = `TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: true,
    })`;
  const WORKFLOWS = 'WorkflowModule.forRoot()';

  it.each([
    ['[\n    A,\n    B,\n  ]', `[\n    A,\n    B,\n    ${TYPE_ORM},\n    ${WORKFLOWS},\n  ]`],
    ['[\n    A,\n    B\n  ]', `[\n    A,\n    B,\n    ${TYPE_ORM},\n    ${WORKFLOWS}\n  ]`],
    ['[\n    A, // first\n    B, // last\n  ]', `[\n    A, // first\n    B, // last\n    ${TYPE_ORM},\n    ${WORKFLOWS},\n  ]`],
    ['[\n    A,\n    B // last, of all\n  ]', `[\n    A,\n    B, // last, of all\n    ${TYPE_ORM},\n    ${WORKFLOWS}\n  ]`],
    ['[\n    // one,\n    A,\n    // none\n  ]', `[\n    // one,\n    A,\n    ${TYPE_ORM},\n    ${WORKFLOWS},\n    // none\n  ]`],
    ['[A]', `[A, ${TYPE_ORM}, ${WORKFLOWS}]`],
    ['[A, /* b */ B, ]', `[A, /* b */ B, ${TYPE_ORM}, ${WORKFLOWS}, ]`],
    ['[A, // of all\n  ]', `[A, // of all\n    ${TYPE_ORM},\n    ${WORKFLOWS},\n  ]`],
  ])('ADD-01 adds to the list %j', async (list, expected) => {
    const { tree } = await nestAdd({ 'src/app.module.ts': MODULE.replace('[]', () => list) });
    expect(tree.readContent('src/app.module.ts')).toContain(`\n  imports: ${expected},\n  providers`);
  }); // prettier-ignore

  it('ADD-01 keeps line breaks, tabs, quotes, and a comment behind the last import or in its manner', async () => {
    const text = MODULE.replaceAll("'", '"')
      .replace('service.js";', 'service.js"; // ours')
      .replace('@Module', '// import { Old } from "./old";\n@Module')
      .replaceAll(/^ {2}/gm, '\t')
      .replaceAll('\n', '\r\n');
    const { tree } = await nestAdd({ 'src/app.module.ts': text });
    const changed = tree.readContent('src/app.module.ts');
    expect(changed.replaceAll('\r\n', '')).not.toContain('\n');
    expect(changed.split('\r\n').slice(0, 10)).toEqual([
      'import { Module } from "@nestjs/common";',
      'import { AppService } from "./app.service.js"; // ours',
      'import { TypeOrmModule } from "@nestjs/typeorm";',
      'import { WorkflowMigrations } from "nestjs-pg-workflows/migrations";',
      'import { WorkflowModule } from "nestjs-pg-workflows";',
      '',
      '// import { Old } from "./old";',
      '@Module({',
      '\timports: [',
      '\t\tTypeOrmModule.forRoot({',
    ]);
    expect(changed).not.toMatch(/^ /m);
  });

  it('ADD-01 finds the root module that main.ts imports by the base URL, and says where there is none', async () => {
    const { tree } = await nestAdd({
      'src/main.ts': MAIN.replace('./app.module.js', 'src/root/root.module'),
      'src/root/root.module.ts': MODULE,
    });
    expect(tree.readContent('src/root/root.module.ts')).toContain('WorkflowModule.forRoot(),');
    expect(tree.readContent('src/app.module.ts')).toBe(MODULE);

    const { messages } = await nestAdd({}, { sourceRoot: 'lib' });
    expect(messages.join('\n')).toMatch(
      /^No module was found that main\.ts makes the application of\. Add WorkflowModule/m,
    );
  });

  it('ADD-02 does not take comments for what is set up', async () => {
    const text = `// WorkflowModule.forRoot() and TypeOrmModule.forRoot() and 'nestjs-pg-workflows/migrations' some day\n${MODULE}`;
    const { tree } = await nestAdd({ 'src/app.module.ts': text });
    expect(tree.readContent('src/app.module.ts')).toMatch(
      /\n {4}TypeOrmModule\.forRoot\(\{[^}]*\}\),\n {4}WorkflowModule\.forRoot\(\),\n {2}\],/,
    );
  });
});

describe('nest add, in a repository with several applications', () => {
  const application = (name: string) => ({ type: 'application', root: `apps/${name}`, sourceRoot: `apps/${name}/src` });
  const NEST = JSON.stringify({
    monorepo: true,
    sourceRoot: 'apps/billing/src',
    projects: { billing: application('billing'), shop: application('shop'), data: { type: 'library', root: 'libs/data', sourceRoot: 'libs/data/src' } },
  }); // prettier-ignore
  const DATA_SOURCE = `import { DataSource } from 'typeorm';\nexport default new DataSource({ type: 'postgres', migrations: [] });\n`;
  const BILLING = {
    'nest-cli.json': NEST,
    'apps/billing/src/main.ts': MAIN,
    'apps/billing/src/app.module.ts': withDataSource('migrations: [],').replace('}),\n  ]', '}),\n    WorkflowModule.forRoot(),\n  ]'),
    'apps/billing/src/migrations/1700000000000-create-orders.ts': MIGRATION,
    'apps/shop/src/main.ts': MAIN.replace('app.module.js', 'shop.module'),
    'apps/shop/src/shop.module.ts': MODULE,
    'data-source.ts': DATA_SOURCE,
  }; // prettier-ignore
  const forShop = (files: Record<string, string> = {}) =>
    nestAdd({ ...BILLING, ...files }, { sourceRoot: 'apps/shop/src' });

  it('ADD-09 stays in the one it is for, whatever the others have', async () => {
    const { tree } = await forShop();
    const { 'apps/shop/src/shop.module.ts': _, ...others } = BILLING;
    for (const [name, text] of Object.entries(others)) expect([name, tree.readContent(name)]).toEqual([name, text]);
    expect(tree.readContent('apps/shop/src/shop.module.ts')).toMatch(
      /TypeOrmModule\.forRoot.*WorkflowModule\.forRoot/s,
    );
    expect(tree.files.filter((name) => name.includes('migrations'))).toHaveLength(1);
  });

  it('ADD-09 leaves the DataSource of a library to a person, and edits one beside package.json that a script gives to TypeORM', async () => {
    const library = await forShop({ 'libs/data/src/data.module.ts': withDataSource('url,') });
    expect(library.messages.join('\n')).toContain('The options of your DataSource are not where they can be edited');
    expect(library.tree.readContent('libs/data/src/data.module.ts')).toBe(withDataSource('url,'));
    expect(library.tree.readContent('apps/shop/src/shop.module.ts')).toContain('imports: [WorkflowModule.forRoot()]');

    const scripts = { migrate: 'typeorm migration:run -d data-source.ts' };
    const script = await forShop({
      'package.json': JSON.stringify({ ...PACKAGE, scripts }),
      'apps/shop/src/shop.module.ts': withDataSource('migrations: [],'),
    });
    expect(script.tree.readContent('apps/shop/src/shop.module.ts')).toContain('migrations: [...WorkflowMigrations]');
    expect(script.tree.readContent('data-source.ts')).toContain('migrations: [...WorkflowMigrations]');
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

  it('ADD-04 gives no migrations to a DataSource of another database, and says what to add', async () => {
    const files = {
      'src/app.module.ts': withDataSource('url,').replace("'postgres'", "'mysql'"),
      'src/migrations/1700000000000-create-orders.ts': MIGRATION,
    };
    const { tree, messages } = await nestAdd(files);
    for (const [name, text] of Object.entries(files)) expect(tree.readContent(name)).toBe(text);
    expect(tree.files.filter((name) => name.includes('migrations'))).toHaveLength(1);
    expect(messages.join('\n')).toMatch(/need PostgreSQL.*type: "postgres".*forRoot\(\{ connection: "workflows" \}\)/);
    expect(messages.join('\n')).not.toContain('Next:');
  });
});
