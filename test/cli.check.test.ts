import type { WorkflowService } from 'nestjs-pg-workflows';
import { DataSource } from 'typeorm';
import { WorkflowMigrations } from '../migrations';
import { ensureBuilt } from './support/built';
import { BUILD_MS, cli, type CliAnswer } from './support/cli';
import { createTestDatabase } from './support/database';
import { withClient } from './support/database-names';
import { ERRANDS, Parcel } from './support/errands.mjs';
import { allRows } from './support/rows';
import { workflowSuite } from './support/suite';

const [Errand, Distribution, , Legacy, , , Campaign, Bell, Post] = ERRANDS.old;

describe('the command-line tool, before a deploy', () => {
  const suite = workflowSuite();

  beforeAll(ensureBuilt, BUILD_MS);

  const check = (args: readonly string[] = [], env: Record<string, string> = {}): Promise<CliAnswer> =>
    cli(['check', ...args], { env: { CLI_DATABASE_URL: suite.database.url, ...env } });

  /** Runs of the old build, in each place that the new one is asked about. */
  async function fill(workflows: WorkflowService): Promise<void> {
    const start = (args: object = {}, id = 1) => workflows.start(Errand, { subject: new Parcel(String(id)), args });
    const [waits, failed, rests] = [await start({}, 1), await start({ fails: true }, 2), await start({}, 3)];
    const legacy = await workflows.start(Legacy);
    const distribution = await workflows.start(Distribution);
    for (const run of [waits, failed, rests, legacy, distribution]) await suite.until(run, 'waiting');
    for (const run of [failed, rests]) await run.signal('confirmed');
    await suite.until(failed, 'paused');
    await suite.eventually(async () => (await rests.reload()).currentStep === 'rest', 'it rests');
  }

  test('CLI-07 CLI-08 it finds what in flight a build does not have, exits with 1, and changes nothing; the build that has it is fine', async () => {
    const { workflows } = await suite.boot(ERRANDS.old);
    await fill(workflows);
    const before = await allRows(suite.sql);
    const [old, text, json, ignoring] = await Promise.all([
      check(),
      check([], { CLI_BUILD: 'new' }),
      check(['--json'], { CLI_BUILD: 'new' }),
      check(['--json', '--ignore', 'Legacy', '--ignore', 'Handout'], { CLI_BUILD: 'new' }),
    ]);

    expect([old.code, old.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^✓ .*cli-app\.mjs goes with what is in flight: 5 ongoing runs, schema 2 \(this build needs 2\)\.\n$/,
      ),
    ]);
    expect([text.code, json.code, ignoring.code]).toEqual([1, 1, 1]);
    const { ok, ongoing, findings, notes } = json.json;
    expect([ok, ongoing]).toEqual([false, 5]);
    const brief = ({ kind, class: name, step, job, subject_type, runs, by_status }: any) => ({
      kind,
      ...(name && { name }),
      ...(step && { step }),
      ...(job && { job }),
      ...(subject_type && { subject_type }),
      runs,
      ...(by_status && { by_status }),
    });
    expect(findings.map(brief)).toEqual([
      { kind: 'class_not_loaded', name: 'Legacy', runs: 1, by_status: { waiting: 1 } },
      { kind: 'job_not_loaded', job: 'Handout', runs: 1 },
      { kind: 'step_not_declared', name: 'Errand', step: 'deliver', runs: 1, by_status: { paused: 1 } },
      { kind: 'step_does_not_wait', name: 'Errand', step: 'confirm', runs: 1 },
      { kind: 'subject_not_loadable', name: 'Errand', subject_type: 'Parcel', runs: 3 },
    ]);
    expect(notes.map(brief)).toEqual([
      { kind: 'gravestone_free', name: 'Errand', step: 'wrap', runs: 0 },
      { kind: 'on_gravestone', name: 'Errand', step: 'rest', runs: 1, by_status: { ready: 1 } },
      { kind: 'began_on_other_steps', name: 'Errand', runs: 3 },
      { kind: 'gravestone_free', name: 'Campaign', step: 'advertise', runs: 0 },
    ]);
    expect(ignoring.json.findings.map(({ kind }: any) => kind)).not.toContain('class_not_loaded');
    expect(ignoring.json.findings.map(({ kind }: any) => kind)).not.toContain('job_not_loaded');

    for (const line of [
      /^✗ 1 run of Legacy \(1 waiting\) is under way, and this build does not have the class\./m,
      /^ {2}.*@Workflow\(\{ name: 'Legacy' \}\).*--ignore Legacy$/m,
      /^✗ 2 fan-out members of 1 run are for the job Handout/m,
      /^✗ 3 runs of Errand are about Parcel, which this build cannot load/m,
      /^✗ 1 run of Errand \(1 paused\) is at step "deliver", which this build does not declare/m,
      /^ {2}Put a gravestone in its place \(@RemovedStep\(\) deliver\?: never\)/m,
      /^· No run of Errand stands on the removed step "wrap"/m,
      /would break 5 things: 5 ongoing runs/,
    ]) {
      expect(text.stdout).toMatch(line);
    }
    expect(await allRows(suite.sql)).toEqual(before);
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('CLI-15 a step that waits for another signal than its runs do is found, where a matcher decides it is noted; members of a batch that is passed over are not needed', async () => {
    const { workflows } = await suite.boot(ERRANDS.old);
    for (const one of [Campaign, Bell, Post]) await suite.until(await workflows.start(one), 'waiting');
    const [old, renamed] = await Promise.all([check(), check(['--json'], { CLI_BUILD: 'new' })]);
    expect([old.code, renamed.code]).toEqual([0, 1]);
    const { findings, notes } = renamed.json;
    expect(findings).toEqual([
      {
        kind: 'step_waits_for_other',
        class: 'Bell',
        step: 'hear',
        runs: 1,
        text: '1 run of Bell waits for signal "ring" at step "hear", which waits for "rang" in this build. "ring" would be kept, and wake nobody.',
        advice: expect.stringContaining(`['ring', 'rang'].includes(name)`),
      },
    ]);
    expect(notes.find(({ kind }: any) => kind === 'asks_matcher')).toMatchObject({
      class: 'Post',
      step: 'open',
      runs: 1,
      text: expect.stringContaining('waits for "letter" at step "open", where this build asks its matcher "mail"'),
    });
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('CLI-09 CLI-10 tables that are older, missing or too new are findings; what the application migrates as it boots is none; nothing is migrated', async () => {
    const database = await createTestDatabase();
    const source = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [...WorkflowMigrations],
    }).initialize();
    try {
      const here = { CLI_DATABASE_URL: database.url };
      const migrates = { ...here, CLI_MIGRATES: 'true' };
      const tell = async (answers: Promise<CliAnswer>[]) =>
        (await Promise.all(answers)).map(({ code, json }) => [code, json.schema, [...json.findings, ...json.notes].map(({ kind, text }: any) => `${kind}: ${text}`)]); // prettier-ignore

      await source.undoLastMigration();
      const pending = ['NumberWorkflowSchema1764700000000'];
      const behind = { found: 1, needed: 2, pending };
      expect(await tell([check(['--json'], here), check(['--json'], migrates)])).toEqual([
        [1, behind, [expect.stringMatching(/^schema: .*Missing: the migration NumberWorkflowSchema\d+ \(the tables have schema 1, this version needs 2\).*typeorm migration:run/)]],
        [0, behind, [expect.stringMatching(/^schema: This build runs NumberWorkflowSchema\d+ as it boots/)]],
      ]); // prettier-ignore
      const list = await cli(['list'], { env: here });
      expect([list.code, list.stderr]).toEqual([
        2,
        expect.stringMatching(/Missing: the migration NumberWorkflowSchema/),
      ]);

      await source.undoLastMigration();
      const missing = { found: null, needed: 2, pending: ['CreateWorkflowTables1764500000000', ...pending] };
      expect(await tell([check(['--json'], here), check(['--json'], migrates)])).toEqual([
        [1, missing, [expect.stringMatching(/Missing: table "workflows".*CreateWorkflowTables/)]],
        [0, missing, [expect.stringMatching(/This build runs CreateWorkflowTables\d+, NumberWorkflowSchema/)]],
      ]);
      expect(await source.query(`select to_regclass('workflows') is null as missing`)).toEqual([{ missing: true }]);

      await source.runMigrations();
      const mark = (schema: number, forVersionsOf: number) =>
        source.query(
          `comment on table workflows is 'nestjs-pg-workflows: schema ${schema}, for versions that know schema ${forVersionsOf}'`,
        );
      await mark(4, 2);
      expect(await tell([check(['--json'], here)])).toEqual([
        [0, { found: 4, needed: 2, pending: [] }, [expect.stringMatching(/have schema 4, made for a newer version/)]],
      ]);
      await mark(4, 3);
      expect(await tell([check(['--json'], here)])).toEqual([
        [1, { found: 4, needed: 2, pending: [] }, [expect.stringMatching(/work on that know schema 3 or a later one/)]],
      ]);
    } finally {
      await source.destroy();
      await database.drop();
    }
  });

  test('CLI-09 UPG-07 UPG-08 what the migrations that run at boot do not mend is a finding; what they will do is a note', async () => {
    const pending = /This build runs CreateWorkflowTables\d+, NumberWorkflowSchema\d+ as it boots/;
    const cases: [sql: string, code: number, text: RegExp, advice?: RegExp][] = [
      ['comment on table workflows is null', 1, /the tables have schema 1, this version needs 2/, /NumberWorkflowSchema\d+ recorded as run, and does not run it again: the tables lost their comment/],
      ['drop table workflow_signals, workflow_steps, workflow_events, workflows', 1, /Missing: table "workflows"/, /does not run them again: the tables were dropped/],
      ['drop table workflows cascade', 1, /not whole\. Missing: table "workflows"\./],
      ['drop table workflow_signals, workflow_steps, workflow_events, workflows; create table workflows (id int)', 1, /table "workflows" that is not nestjs-pg-workflows's/],
      ['drop table workflow_signals, workflow_steps, workflow_events, workflows, migrations; create table workflows (id int)', 1, /table "workflows" that is not nestjs-pg-workflows's/],
      ['drop index workflows_one_ongoing', 1, /the unique index workflows_one_ongoing/],
      ['drop schema public cascade', 1, /Missing: table "workflows"/, /may not: its role cannot create tables/],
      ['drop schema public cascade; create schema public', 0, pending],
    ]; // prettier-ignore
    const asked = cases.map(async ([sql]) => {
      const database = await createTestDatabase();
      try {
        await withClient(database.url, (client) => client.query(sql));
        return await check(['--json'], { CLI_DATABASE_URL: database.url, CLI_MIGRATES: 'true' });
      } finally {
        await database.drop();
      }
    });
    const answers = await Promise.all(asked);
    for (const [index, [sql, exit, text, advice = /^$/]] of cases.entries()) {
      const { code, json } = answers[index];
      const [told, ...others] = [...json.findings, ...json.notes];
      expect([sql, code, told.kind, told.text, told.advice ?? '', others]).toEqual([
        sql,
        exit,
        'schema',
        expect.stringMatching(text),
        expect.stringMatching(advice),
        [],
      ]);
    }
  });
});
