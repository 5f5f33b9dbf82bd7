import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ensureBuilt } from './support/built';
import { BUILD_MS, cli, type CliAnswer } from './support/cli';
import { ERRANDS } from './support/errands.mjs';
import { workflowSuite } from './support/suite';

const HOSTILE = path.join(__dirname, 'support/cli-hostile.mjs');
const IMPATIENT = path.join(__dirname, 'support/impatient.cjs');

describe('the command-line tool, and an application that ends its process', () => {
  const suite = workflowSuite();
  let folder: string;

  beforeAll(() => {
    ensureBuilt();
    folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-cli-'));
  }, BUILD_MS);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const tool = (args: readonly string[], hostile: string, env: Record<string, string> = {}): Promise<CliAnswer> =>
    cli(args, { app: HOSTILE, env: { CLI_DATABASE_URL: suite.database.url, CLI_HOSTILE: hostile, ...env } });

  const start = async () => {
    const { workflows } = await suite.boot(ERRANDS.old, { worker: false });
    return workflows.start(ERRANDS.old[0]);
  };

  test('CLI-16 whatever the application does as it is loaded or made, the tool says that it has not looked: 2, and one document', async () => {
    const cases: [string, RegExp][] = [
      ['load: never settles', /cli-hostile\.mjs does not come up: a top-level await/],
      ['load: exits with 0', /cli-hostile\.mjs has ended the process: process\.exit\(0\)/],
      ['load: exits with 1', /cli-hostile\.mjs has ended the process: process\.exit\(1\)/],
      ['load: throws null', /could not be loaded: null was thrown, which is no Error/],
      ['make: exits with 0', /has ended the process: process\.exit\(0\)/],
      ['make: throws text', /does not boot: 'just a text' was thrown, which is no Error/],
      ['make: rejects aside', /redis is away/],
    ];
    const hurry = { NODE_OPTIONS: `--require ${IMPATIENT}` };
    const [text, hangs, ...answers] = await Promise.all([
      tool(['check'], 'load: exits with 0'),
      tool(['check', '--json'], 'load: never settles, with a timer', hurry),
      ...cases.map(([hostile]) => tool(['check', '--json'], hostile)),
    ]);
    for (const [index, { code, json }] of answers.entries()) {
      expect([cases[index][0], code, json]).toEqual([cases[index][0], 2, expect.objectContaining({ ok: false })]);
      expect(json.message).toMatch(cases[index][1]);
    }
    expect([text.code, text.stdout]).toEqual([2, '']);
    expect(text.stderr).toMatch(/^nestjs-pg-workflows: .*has ended the process/m);
    expect(hangs.code).toBe(2);
    expect(hangs.json.message).toMatch(/cli-hostile\.mjs has not been loaded within 90 s\. A top-level await/);
  });

  test('CLI-10 a file that starts the application as it loads is refused, and nothing is started', async () => {
    const started = path.join(folder, 'started');
    const run = await start();
    const answers = await Promise.all([
      tool(['list'], 'load: starts', { CLI_STARTED: started }),
      tool(['list'], 'load: starts aside', { CLI_STARTED: started }),
    ]);
    const method = ['create', 'createApplicationContext'];
    for (const [index, { code, stdout, stderr }] of answers.entries()) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain(`starts an application as it loads (NestFactory.${method[index]}), which was not done`);
      expect(stderr).toContain('Name the file that only exports its root module');
    }
    expect(existsSync(started)).toBe(false);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled']);
  });

  test('CLI-17 once a verb has been sent, stray errors of the application do not hide its result, and whoever ends the process leaves it unknown', async () => {
    const runs = [await start(), await start(), await start()];
    const [rejects, throws, exits] = await Promise.all(
      ['rejects aside', 'throws aside', 'exits with 0'].map((how, index) =>
        tool(['cancel', runs[index].id, '--json'], `cancel: ${how}`),
      ),
    );
    for (const [index, { code, json }] of [rejects, throws].entries()) {
      expect([code, json]).toEqual([
        0,
        expect.objectContaining({
          ok: true,
          run: expect.objectContaining({ id: runs[index].id, status: 'cancelled' }),
        }),
      ]);
    }
    expect(throws.stderr).toContain('the application has not caught: redis is lost');
    expect(rejects.stderr).toContain('the application has not caught: chat answered 500');
    expect([exits.code, exits.json]).toEqual([
      2,
      {
        ok: false,
        code: 'UNKNOWN_OUTCOME',
        message: expect.stringContaining(`look with "show ${runs[2].id}" before you try again`),
      },
    ]);
    for (const run of runs) expect((await run.reload()).status).toBe('cancelled');
  });

  test('CLI-17 what the database refuses was not done, and the tool says so', async () => {
    const run = await start();
    await suite.sql(`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'permission denied for table workflow_events' using errcode = '42501'; end $$`);
    await suite.sql(`create trigger refuse before insert on workflow_events for each row execute function refuse()`);
    try {
      const { code, json } = await tool(['cancel', run.id, '--json'], '');
      expect([code, json]).toEqual([
        2,
        {
          ok: false,
          code: 'DATABASE_REFUSED',
          message:
            'The database refused it: permission denied for table workflow_events (SQLSTATE 42501). Nothing was done.',
        },
      ]);
    } finally {
      await suite.sql('drop trigger refuse on workflow_events');
    }
    expect((await run.reload()).status).toBe('ready');
  });
});
