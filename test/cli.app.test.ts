import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { APP, BUILD_MS, cli, type CliAnswer, type CliOptions } from './support/cli';
import { ensureBuilt } from './support/built';
import { ERRANDS } from './support/errands.mjs';
import { workflowSuite } from './support/suite';

const root = path.join(__dirname, '..');
const demo = path.join(root, 'apps/demo');

describe('the command-line tool, and the application', () => {
  const suite = workflowSuite();
  let folder: string;

  beforeAll(() => {
    ensureBuilt();
    folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-cli-'));
  }, BUILD_MS);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const tool = (args: readonly string[], options: CliOptions = {}): Promise<CliAnswer> =>
    cli(args, { ...options, env: { CLI_DATABASE_URL: suite.database.url, ...options.env } });

  test('CLI-10 it makes the objects of an application and sets nothing going: no hook is called, no step is taken, and it ends though timers are open', async () => {
    const trap = path.join(folder, 'trap');
    const { workflows } = await suite.boot(ERRANDS.old, { worker: false });
    const run = await workflows.start(ERRANDS.old[0]);
    const answers = await Promise.all([
      tool(['list', '--json'], { env: { CLI_TRAP: trap } }),
      tool(['check'], { env: { CLI_TRAP: trap } }),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([0, 0]);
    expect(answers[0].json.runs).toMatchObject([{ id: run.id, status: 'ready' }]);
    expect(existsSync(trap)).toBe(false);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled']);
    expect(
      await suite.sql(
        `select application_name from pg_stat_activity where datname = current_database() and application_name like 'wf %'`,
      ),
    ).toEqual([]);
  });

  test('CLI-11 it finds the application: ES module or CommonJS, named, in package.json, or where Nest builds it', async () => {
    writeFileSync(
      path.join(folder, 'package.json'),
      JSON.stringify({ 'nestjs-pg-workflows': { app: `${APP}#AppModule` } }),
    );
    const monorepo = path.join(folder, 'mono');
    mkdirSync(path.join(monorepo, 'dist/apps/shop'), { recursive: true });
    writeFileSync(path.join(monorepo, 'nest-cli.json'), JSON.stringify({ monorepo: true, root: 'apps/shop' }));
    symlinkSync(path.join(root, 'node_modules'), path.join(monorepo, 'node_modules'));
    writeFileSync(path.join(monorepo, 'dist/apps/shop/app.module.js'), 'exports.nothing = 1;');
    writeFileSync(path.join(folder, 'shop.env'), `DATABASE_URL=${suite.database.url}\n`);
    const [manifest, commonJs, mono] = await Promise.all([
      tool(['check'], { app: null, cwd: folder }),
      tool(['check', '--env', path.join(folder, 'shop.env')], { app: null, cwd: demo }),
      tool(['check'], { app: null, cwd: monorepo }),
    ]);
    expect(manifest.stdout).toMatch(/cli-app\.mjs#AppModule goes with/);
    // The run before is of a class that the demo does not have; its own migrations, which it runs as it boots, did not run.
    expect([commonJs.code, commonJs.stderr]).toEqual([1, '']);
    expect(commonJs.stdout).toMatch(
      /^✗ 1 run of Errand .*this build does not have the class[^]*dist\/app\.module\.js would break one thing/,
    );
    expect(await suite.sql(`select to_regclass('orders') is null as untouched`)).toEqual([{ untouched: true }]);
    expect(mono.stderr).toMatch(/dist\/apps\/shop\/app\.module\.js: the file exports no Nest module/);
  });

  test('CLI-11 CLI-06 what is not as it should be is said in a sentence, with 2', async () => {
    const file = (name: string, text: string) => {
      writeFileSync(path.join(folder, name), text);
      return path.join(folder, name);
    };
    mkdirSync(path.join(folder, 'alone'));
    mkdirSync(path.join(folder, 'bundle/dist/apps/shop'), { recursive: true });
    file('bundle/nest-cli.json', JSON.stringify({ root: 'apps/shop' }));
    file('bundle/dist/apps/shop/main.js', '');
    const cases: [string[], CliOptions, RegExp][] = [
      [['list'], { app: null, cwd: path.join(folder, 'alone') }, /no compiled application here: looked for dist\/app\.module\.js, dist\/src\/app\.module\.js, dist\/app\/app\.module\.js, .*\. Build it first/],
      [['list'], { app: null, cwd: path.join(folder, 'bundle') }, /There is dist\/apps\/shop\/main\.js, and no app\.module\.js beside it: webpack makes one file of all.*"webpack": false in nest-cli\.json, or a second entry/],
      [['list'], { app: 'nowhere/app.module.js' }, /There is no file .*nowhere\/app\.module\.js\. Build the application first/],
      [['list'], { app: 'apps/demo/src/app.module.ts' }, /is TypeScript: build the application/],
      [['list'], { app: 'apps/demo/dist/main.js' }, /starts the application; name the file that exports its root module/],
      [['list'], { app: `${APP}#Nothing` }, /exports no Nothing\. Modules that it exports: AppModule, PlainModule, TwiceModule\./],
      [['list'], { app: `${APP}#PlainModule` }, /has no WorkflowModule\. Import WorkflowModule\.forRoot\(\)/],
      [['list'], { app: `${APP}#TwiceModule` }, /WorkflowModule is in this application 2 times/],
      [['list'], { app: file('alone.js', '') }, /does not have nestjs-pg-workflows installed/],
      [['list'], { env: { CLI_DATABASE_URL: 'postgres://ada:s3cret@127.0.0.1:1/shop' } }, /The database at 127\.0\.0\.1:1\/shop could not be opened: .*ECONNREFUSED.*--env/],
      [['list', '--env', 'nowhere.env'], {}, /--env cannot be read/],
      [['show', 'x', '--database-url', 'mysql://x'], { app: null }, /has to be a URL such as postgres:/],
      [['show', 'x', '--schema', 'flows'], {}, /--schema goes with --database-url/],
    ]; // prettier-ignore
    const answers = await Promise.all(cases.map(([args, options]) => tool(args, options)));
    for (const [index, { code, stdout, stderr }] of answers.entries()) {
      expect(stderr).toMatch(cases[index][2]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).not.toMatch(/\n\s+at |s3cret/);
    }
    const [json, verbose] = await Promise.all([
      tool(['list', '--json'], { env: { CLI_DATABASE_URL: 'postgres://127.0.0.1:1/shop' } }),
      tool(['list', '--verbose'], { app: `${APP}#TwiceModule` }),
    ]);
    expect(json.json).toMatchObject({ ok: false, code: 'DATABASE_AWAY' });
    expect(json.code).toBe(2);
    expect(verbose.stderr).toMatch(/WorkflowConfigurationError[^]*\n\s+at /);
    expect(verbose.stderr).toMatch(/and logs it/);
    expect(verbose.stdout).toBe('');
  });

  test('CLI-11 another copy of the tool hands over to the one that the application has', async () => {
    const copy = path.join(folder, 'copy/node_modules/nestjs-pg-workflows');
    cpSync(path.join(root, 'libs/workflow/dist'), path.join(copy, 'dist'), {
      recursive: true,
      filter: (from) => !from.includes('dashboard'),
    });
    cpSync(path.join(root, 'libs/workflow/package.json'), path.join(copy, 'package.json'));
    for (const name of ['typeorm', '@nestjs', 'uuidv7', 'ms', 'reflect-metadata', 'rxjs', 'class-validator']) {
      symlinkSync(path.join(root, 'node_modules', name), path.join(folder, 'copy/node_modules', name));
    }
    const bin = path.join(copy, 'dist/cli/main.js');
    const [answer, fails] = await Promise.all([
      tool(['check', '--json'], { bin }),
      tool(['check', '--json'], {
        bin,
        app: path.join(root, 'test/support/cli-hostile.mjs'),
        env: { CLI_HOSTILE: 'make: rejects aside' },
      }),
    ]);
    expect(answer.json).toMatchObject({ schema: { found: 2, needed: 2 } });
    expect(answer.code).toBe(0);
    // One document: both copies would hear of an error that nobody caught.
    expect([fails.code, fails.json.code]).toEqual([2, 'UNEXPECTED']);
  });

  test('CLI-06 the help names each command, its options and the exit codes', async () => {
    const commands = ['check', 'list', 'show', 'resume', 'cancel', 'signal'];
    const [general, version, ...each] = await Promise.all([
      tool(['--help'], { app: null }),
      tool(['--version'], { app: null }),
      ...commands.map((name) => tool([name, '--help'], { app: null })),
    ]);
    for (const name of commands) expect(general.stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(general.stdout).toMatch(/Exit codes: 0 .* 1 .* 2 /);
    const manifest = JSON.parse(readFileSync(path.join(root, 'libs/workflow/package.json'), 'utf8')) as object;
    expect(version.stdout).toBe(`${(manifest as { version: string }).version}\n`);
    for (const [index, { code, stdout }] of each.entries()) {
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Usage: nestjs-pg-workflows ${commands[index]}\\b[^]*--json[^]*--help`));
    }
    expect(each[0].stdout).not.toContain('--database-url');
  });
});
