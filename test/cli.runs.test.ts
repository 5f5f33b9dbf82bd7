import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import type { WorkflowHandle } from 'nestjs-pg-workflows';
import { bootAdmin, type AdminApp } from './support/admin';
import { ensureBuilt } from './support/built';
import { APP, BIN, BUILD_MS, cli, type CliAnswer } from './support/cli';
import { ERRANDS, Parcel } from './support/errands.mjs';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { allRows } from './support/rows';
import { workflowSuite } from './support/suite';

const [Errand, , , Legacy] = ERRANDS.old;
const user = os.userInfo().username;

describe('the command-line tool, on runs', () => {
  const suite = workflowSuite();
  let admin: AdminApp;
  let nextId = 1;

  const tool = (args: readonly string[], stdin = ''): Promise<CliAnswer> =>
    cli(args, { env: { CLI_DATABASE_URL: suite.database.url }, stdin });

  beforeAll(async () => {
    ensureBuilt();
    admin = await bootAdmin(suite, {
      providers: ERRANDS.old,
      // Told by the tool, or not in time.
      workflow: { maxPayloadSize: 2_000, worker: { pollInterval: '10m' } },
    });
  }, BUILD_MS);

  afterAll(() => admin?.close());

  const start = (args: object = {}): Promise<WorkflowHandle> =>
    admin.workflows.start(Errand, { subject: new Parcel(String(nextId++)), args });

  /** At `confirm`. */
  async function waitingRun(args: object = {}): Promise<WorkflowHandle> {
    const run = await start(args);
    await suite.until(run, 'waiting');
    return run;
  }

  /** At `deliver`, which failed. */
  async function pausedRun(): Promise<WorkflowHandle> {
    const run = await waitingRun({ fails: true, secret: 'secret-arg' });
    await run.signal('confirmed', { by: 'secret-payload' });
    await suite.until(run, 'paused');
    return run;
  }

  test('CLI-01 list prints ongoing runs in the words of REST, newest first; filters combine; a list that is cut says how to go on', async () => {
    const older = await pausedRun();
    const [newer, ended] = [await waitingRun(), await waitingRun()];
    await ended.cancel();
    const [json, text, filtered, cut, none] = await Promise.all([
      tool(['list', '--json']),
      tool(['list']),
      tool([
        'list',
        '--state',
        'all',
        '--class',
        'Errand',
        '--step',
        'deliver',
        '--error-class',
        'RouteClosed',
        '--json',
      ]),
      tool(['list', '--state', 'all', '--limit', '1']),
      tool(['list', '--class', 'Nobody']),
    ]);

    const { body } = await admin.get('api/runs');
    const ids = (one: { runs: { id: string }[] }) => one.runs.map(({ id }) => id);
    expect(ids(json.json)).toEqual(ids(body));
    expect(ids(json.json)).toEqual(expect.arrayContaining([newer.id, older.id]));
    const { subject_url: _url, now: _now, ...first } = body.runs[0];
    expect(json.json.runs[0]).toMatchObject(first);
    expect(json.json.next_cursor).toBeNull();

    const lines = text.stdout.split('\n');
    expect(lines[0]).toMatch(/^ID +CLASS +SUBJECT +STATUS +STUCK +CREATED +NOW$/);
    const line = lines.find((one) => one.startsWith(older.id))!;
    expect(line).toMatch(
      / Errand +Parcel \d+ +paused +paused_error +\d\d:\d\d UTC \(.* ago\) +Paused since .* at step "deliver", attempt 1: RouteClosed/,
    );
    expect(line.indexOf('Errand')).toBe(lines[0].indexOf('CLASS'));
    expect(text.stdout).not.toContain(ended.id);
    expect(ids(filtered.json)).toContain(older.id);
    expect(ids(filtered.json)).not.toContain(newer.id);

    const cursor = /There are more than these 1: .*--cursor (\S+) goes on here/.exec(cut.stdout)![1];
    expect(cut.stdout).toContain(ended.id);
    expect(none.stdout).toMatch(/^No run fits/);
    for (const { code } of [json, text, filtered, cut, none]) expect(code).toBe(0);
    expect((await tool(['list', '--state', 'all', '--limit', '1', '--cursor', cursor, '--json'])).json.runs[0].id).toBe(
      newer.id,
    );
  });

  test('CLI-02 CLI-13 show tells what a run does and what happened; payloads only where they are asked for; nothing that a terminal would obey', async () => {
    const run = await pausedRun();
    const [text, json, open] = await Promise.all([
      tool(['show', run.id]),
      tool(['show', run.id, '--json']),
      tool(['show', run.id, '--json', '--payloads']),
    ]);
    for (const { code } of [text, json, open]) expect(code).toBe(0);

    for (const line of [
      new RegExp(`^Errand ${run.id}$`, 'm'),
      /^ {2}status +paused \(paused_error\)$/m,
      /^ {2}subject +Parcel \d+$/m,
      /^ {2}now +Paused since \d\d:\d\d UTC \(.* ago\) at step "deliver"/m,
      /^ {2}actions +resume, resume_at, cancel/m,
      /^ {2}args +\[redacted\]/m,
      /^ {2}deliver +1 +failed +paused .* RouteClosed: no \\u001b\[31mship\\u001b\[0m sails: storm$/m,
      /^ {2}confirmed +consumed .*\[redacted\]/m,
      /^ {2}\d\d:\d\d UTC \(.* ago\) +Signal "confirmed" received/m,
    ]) {
      expect(text.stdout).toMatch(line);
    }
    // eslint-disable-next-line no-control-regex -- that is what must not be there
    expect(text.stdout).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/);

    for (const { stdout } of [text, json]) expect(stdout).not.toMatch(/secret|cli-app|errands\.mjs/);
    expect(json.json.run).toMatchObject({ id: run.id, args: '[redacted]', signals: [{ payload: '[redacted]' }] });
    const { body } = await admin.get(`api/runs/${run.id}`);
    expect(open.json.run).toMatchObject({ args: body.args, signals: body.signals, resume_label: body.resume_label });
    expect(open.json.run.attempts.map(({ output, error }: any) => [output, error])).toEqual(
      body.attempts.map(({ output, error }: any) => [output, error]),
    );
    expect(json.json.events).toEqual((await admin.get(`api/runs/${run.id}/events`)).body.events);
  });

  test('CLI-03 resume goes on with the run, at another step too; its worker is told; who and why stand on the trail', async () => {
    const [one, other] = [await pausedRun(), await pausedRun()];
    const [resumed, elsewhere] = await Promise.all([
      tool(['resume', one.id, '--reason', 'the storm is over', '--expected-status', 'paused']),
      tool(['resume', other.id, '--at', 'file', '--actor', 'deploy bot', '--json']),
    ]);
    expect([resumed.code, elsewhere.code]).toEqual([0, 0]);
    expect(resumed.stdout).toContain(`Resumed. Errand ${one.id}`);
    expect(elsewhere.json).toMatchObject({
      ok: true,
      reason: 'Resumed at step "file".',
      run: { id: other.id, args: '[redacted]' },
    });

    // It failed at its first attempt alone: the second one led on to the day's rest.
    await suite.eventually(async () => (await one.reload()).currentStep === 'rest', 'the run has gone on');
    await suite.until(other, 'finished');
    const events = (run: WorkflowHandle) =>
      suite.sql(`select actor, reason from workflow_events where workflow_id = $1 and name = 'resumed'`, [run.id]);
    expect(await events(one)).toEqual([{ actor: `cli:${user}`, reason: 'the storm is over' }]);
    expect(await events(other)).toEqual([{ actor: 'cli:deploy bot', reason: null }]);
  });

  test('CLI-03 CLI-05 signal wakes the step that waits, once for a key; its payload comes from the line, a file or standard input', async () => {
    const [run, piped] = [await waitingRun(), await waitingRun()];
    const first = await tool([
      'signal',
      run.id,
      'confirmed',
      '--payload',
      '{"by":"Ada"}',
      '--idempotency-key',
      'evt-1',
      '--json',
    ]);
    expect(first.code).toBe(0);
    expect(first.json).toMatchObject({
      ok: true,
      duplicate_delivery: false,
      reason: expect.stringContaining('taken by the step'),
    });
    const [again, file] = await Promise.all([
      tool(['signal', run.id, 'confirmed', '--payload', '{"by":"Ada"}', '--idempotency-key', 'evt-1']),
      tool(['signal', piped.id, 'confirmed', '--payload-file', '-'], '{"by":"Bob"}\n'),
    ]);
    expect([again.code, file.code]).toEqual([0, 0]);
    expect(again.stdout).toContain('was sent before: nothing was stored');
    const stored = (id: string) => suite.sql('select payload from workflow_signals where workflow_id = $1', [id]);
    expect(await stored(run.id)).toEqual([{ payload: { by: 'Ada' } }]);
    expect(await stored(piped.id)).toEqual([{ payload: { by: 'Bob' } }]);
    for (const one of [run, piped]) {
      await suite.eventually(async () => (await one.reload()).currentStep === 'rest', 'its step took the signal');
    }
  });

  test('CLI-04 CLI-05 what is refused changes nothing, exits with 1 and says why; what cannot be right exits with 2', async () => {
    const run = await waitingRun();
    const ended = await waitingRun();
    await ended.cancel();
    await suite.eventually(async () => (await run.reload()).currentStep === 'confirm', 'it waits');
    const before = await allRows(suite.sql);
    const unknown = '01900000-0000-7000-8000-000000000000';
    const large = JSON.stringify({ text: 'x'.repeat(3_000) });
    const [notPaused, movedOn, json, gone, noId, tooLarge, tooLate, ...wrong] = await Promise.all([
      tool(['resume', run.id]),
      tool(['cancel', run.id, '--expected-status', 'paused']),
      tool(['resume', run.id, '--at', 'file', '--json']),
      tool(['cancel', unknown]),
      tool(['show', 'abc', '--json']),
      tool(['signal', run.id, 'confirmed', '--payload-file', '-'], large),
      tool(['signal', ended.id, 'confirmed']),
      tool(['signal', run.id, 'confirmed', '--payload', '{by: Ada}']),
      tool(['signal', run.id, 'confirmed', '--payload-file', 'nowhere.json']),
      tool(['cancel', run.id, '--expected-status', 'stopped']),
      tool(['list', '--state', 'lost']),
      tool(['list', '--cursor', 'x']),
    ] as const);

    expect(notPaused.stderr).toMatch(
      /is waiting: "resume" is for runs that are paused.*The run now: Waiting for signal "confirmed"/,
    );
    expect(movedOn.stderr).toMatch(/expected.*paused.*waiting|waiting.*paused/);
    expect(json.json).toMatchObject({ ok: false, code: 'NOT_PAUSED', run: { id: run.id, status: 'waiting' } });
    expect(gone.stderr).toContain(`There is no workflow "${unknown}"`);
    expect(noId.json).toMatchObject({ ok: false, code: 'WORKFLOW_NOT_FOUND' });
    expect(tooLarge.stderr).toMatch(/payload of signal "confirmed".*maxPayloadSize allows 2000/);
    expect(tooLate.stderr).toMatch(/is cancelled: it takes no more signals/);
    for (const { code, stderr } of [notPaused, movedOn, json, gone, noId, tooLarge, tooLate]) {
      expect(code).toBe(1);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    const words = [/no JSON.*single quotes/, /cannot be read/, /allowed: ready,/, /has to be one of ongoing/, /cursor/];
    for (const [index, { code, stderr, stdout }] of wrong.entries()) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words[index]);
    }
    expect(await allRows(suite.sql)).toEqual(before);
  });

  test('CLI-04 a run that moved on while the tool waited for it is not acted on, one that somebody holds is left alone', async () => {
    const [moves, held] = [await waitingRun(), await waitingRun()];
    const pausing = await holdRuns(
      suite,
      [moves.id],
      `with event as (insert into workflow_events (workflow_id, name, actor) select unnest($1::uuid[]), 'paused', 'test')
       update workflows set status = 'paused', paused_at = statement_timestamp() where id = any($1::uuid[])`,
    );
    const holding = await holdRuns(suite, [held.id]);
    try {
      const cancelling = tool(['cancel', moves.id, '--expected-status', 'waiting']);
      const patient = tool(['cancel', held.id]);
      await untilWaitingForLocks(suite, 2);
      await pausing.release();
      const [movedOn, left] = await Promise.all([cancelling, patient]);
      expect(movedOn.code).toBe(1);
      expect(movedOn.stderr).toMatch(/The run now: Paused/);
      expect(left.code).toBe(1);
      expect(left.stderr).toMatch(/was held by somebody else for longer than 3000 ms/);
    } finally {
      await holding.release();
    }
    expect(await moves.reload().then(({ status }) => status)).toBe('paused');
    expect(await held.reload().then(({ status }) => status)).toBe('waiting');
    for (const run of [moves, held]) await run.cancel();
  });

  test('CLI-12 the output is the answer alone, and whoever reads it may stop', async () => {
    await suite.sql(
      `insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, ended_at)
       select gen_random_uuid(), 'Crowd', '{}', 'finished', 'one', '', statement_timestamp() from generate_series(1, 3000)`,
    );
    const noisy = await tool(['list', '--class', 'Crowd', '--state', 'all', '--limit', '10000', '--json']);
    expect(noisy.json.runs).toHaveLength(3_000);
    expect(noisy.json.next_cursor).toBeNull();
    expect(noisy.stderr).toContain('the application says hello');
    expect(noisy.stderr).not.toContain('and logs it');

    const child = spawn(process.execPath, [BIN, 'list', '--state', 'all', '--limit', '10000', '--app', APP], {
      env: { ...process.env, CLI_DATABASE_URL: suite.database.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let complaints = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (complaints += chunk));
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(complaints).not.toMatch(/EPIPE|Error/);
    await suite.sql(`delete from workflows where workflow_class = 'Crowd'`);
  });

  test('CLI-14 without an application, by the URL of its database, runs are listed, shown and cancelled', async () => {
    const run = await admin.workflows.start(Legacy as never);
    await suite.until(run, 'waiting');
    const bare = (...args: string[]) =>
      cli([...args, '--database-url', suite.database.url], { app: null, cwd: os.tmpdir() });
    const [listed, shown] = await Promise.all([bare('list', '--class', 'Legacy'), bare('show', run.id, '--json')]);
    expect(listed.stdout).toContain(run.id);
    expect(shown.json.run).toMatchObject({
      id: run.id,
      definition_loaded: false,
      now: expect.stringMatching(/^Waiting for signal "go"/),
    });
    const [cancelled, resume] = await Promise.all([
      bare('cancel', run.id, '--reason', 'no build'),
      bare('resume', run.id),
    ]);
    expect([cancelled.code, resume.code]).toEqual([0, 2]);
    expect(resume.stderr).toMatch(/Unknown option '--database-url'/);
    expect(await suite.trail(run)).toContain('cancelled');
  });
});
