import { randomUUID } from 'node:crypto';
import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import {
  defineSignal,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowOf,
  type LoadsSubject,
  type RunStatus,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { HttpException } from '@nestjs/common';
import { IsIn } from 'class-validator';
import { of as observableOf } from 'rxjs';
import { DataSource } from 'typeorm';
import { bootAdmin, PLATFORMS, type AdminApp } from './support/admin';
import { holdRuns, untilWaitingForLocks, waitingForLocks } from './support/locks';
import { leaveInProgress } from './support/lost-worker';
import { allRows, makeWait } from './support/rows';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { waiting } from './support/waits';

const STATUSES = ['ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled'] as const;

class Order {
  constructor(readonly id: string) {}
}

@SubjectLoader(Order)
class Orders implements LoadsSubject<Order> {
  async load(id: string) {
    return new Order(id);
  }
}

@Workflow({ name: 'Shop:Order/v1.2', subject: Order })
class NamedOrder extends WorkflowOf<Order> {
  @Step()
  async one() {}
}

@Workflow()
class NamedStuck extends WorkflowOf {
  @Step()
  async one() {}
}

class ApprovalDto {
  @IsIn(['yes', 'no'])
  answer!: string;
}
const Approved = defineSignal('approved', ApprovalDto);

@Workflow()
class Approval extends WorkflowOf {
  @Step({ waitFor: Approved })
  async decide() {}
}

const Waits = waiting();

/** A run's page without what goes on while one looks: ages, and lengths of what has not ended. */
const lasting = ({ now: _now, read_at: _readAt, attempts, ...run }: any) => ({
  ...run,
  attempts: attempts.map(({ id, step, attempt, status, outcome }: any) => ({ id, step, attempt, status, outcome })),
});

describe.each(PLATFORMS)('the REST API on %s', (platform) => {
  const suite = workflowSuite();
  const { sql, trail } = suite;
  let admin: AdminApp;
  /** What `can` is to say, when a test has an opinion. */
  let can: ((request: any, action: string, run: any) => boolean | Promise<boolean>) | undefined;

  beforeAll(async () => {
    admin = await bootAdmin(suite, {
      platform,
      admin: {
        allowUnauthenticated: true,
        actor: (request) => request.headers['x-user'],
        can: (request, action, run) => (can ? can(request, action, run) : true),
        subjectUrl: (type, id) => {
          if (id === 'throws') throw new Error('no such page');
          return { fine: `/${type}/4?tab=1`, url: 'https://shop.example/4', script: 'javascript:alert(1)' }[id] ?? id;
        },
      },
      providers: [Scripted, Waits, Orders, NamedOrder, NamedStuck, Approval],
    });
  });
  afterEach(() => (can = undefined));
  afterAll(() => admin?.close());

  const start = (): Promise<WorkflowHandle> => admin.workflows.start(Scripted, script({}));
  const lastEvent = async (run: { id: string }) =>
    (
      await sql('select name, actor, reason from workflow_events where workflow_id = $1 order by id desc limit 1', [
        run.id,
      ])
    )[0];

  /** A run that stands there. */
  async function inStatus(status: RunStatus): Promise<WorkflowHandle> {
    const run = await start();
    if (status === 'performing') await leaveInProgress(sql, run);
    if (status === 'waiting') await makeWait(sql, run);
    if (status === 'paused') await run.pause();
    if (status === 'finished') await createWorkflowTester(admin.app as never).speedrun(run);
    if (status === 'cancelled') await run.cancel();
    return run.reload();
  }

  const BODIES: Record<string, object> = {
    resume_at: { step: 'two' },
    reschedule: { at: '2999-01-31T09:30:00+02:00' },
    signal: { name: 'hello', payload: { a: 1 } },
  };
  const VERBS = ['pause', 'resume', 'resume_at', 'run_now', 'reschedule', 'skip', 'signal', 'rerun', 'cancel'];
  const act = (run: { id: string }, verb: string, more: object = {}, headers = {}) =>
    admin.post(`api/runs/${run.id}/${verb.replace('_', '-')}`, { ...BODIES[verb], ...more }, headers);

  test.each(STATUSES)(
    'DASH-08 DASH-13 OPS-15 OPS-34 AMB-29 on a run that is %s each of available_actions is done, each other verb is 409, and changes nothing',
    async (status) => {
      const shown = await admin.get(`api/runs/${(await inStatus(status)).id}`);
      expect(shown).toMatchObject({ status: 200, body: { status } });
      for (const verb of VERBS) {
        const run = await inStatus(status);
        const legal = shown.body.available_actions.includes(verb);
        const before = legal ? undefined : await allRows(sql);
        const { status: code, body } = await act(run, verb);
        expect([verb, code, body.ok]).toEqual([verb, legal ? 200 : 409, legal]);
        expect(lasting(body.run)).toEqual(lasting((await admin.get(`api/runs/${run.id}`)).body));
        if (legal) continue;
        expect(await allRows(sql)).toEqual(before);
        // Where it is now, in words and as a status.
        expect(body).toMatchObject({ code: expect.stringMatching(/^[A-Z_]+$/), run: { status } });
        expect(body.reason).toContain(`is ${status}`);
        expect(body.reason).toContain(body.run.now);
      }
    },
  );

  test('DASH-11 DASH-14 OPS-16 who did it and why stand on the event; blanks are none', async () => {
    const run = await start();
    await act(run, 'pause', { reason: 'SMTP is down' }, { 'x-user': 'alice' });
    expect(await lastEvent(run)).toEqual({ name: 'paused', actor: 'dashboard:alice', reason: 'SMTP is down' });
    await act(run, 'resume', { reason: ' \n ' }, { 'x-user': '   ' });
    expect(await lastEvent(run)).toEqual({ name: 'resumed', actor: 'dashboard', reason: null });
    await act(run, 'run_now', { reason: null }, { 'x-user': 'é'.repeat(400) });
    const { actor } = await lastEvent(run);
    expect(actor).toBe(`dashboard:${'é'.repeat(245)}`);
    const { body } = await admin.get(`api/runs/${run.id}/events`);
    expect(body.events.map((event: any) => event.text)).toContainEqual(
      expect.stringMatching(/^Paused by dashboard:alice: SMTP is down/),
    );
  });

  test('OPS-11 OPS-12 reschedule takes a moment with its zone; rerun leads to the new run', async () => {
    const run = await start();
    expect((await act(run, 'reschedule', { at: '2999-01-31T09:30:00+02:00' })).body.reason).toContain(
      '2999-01-31T07:30:00.000Z',
    );
    const [{ at }] = await sql('select available_at as at from workflow_steps where workflow_id = $1', [run.id]);
    expect(at.toISOString()).toBe('2999-01-31T07:30:00.000Z');
    await act(run, 'cancel');
    const { body } = await act(run, 'rerun', {}, { 'x-user': 'bob' });
    expect(body).toMatchObject({ ok: true, run: { id: run.id, status: 'cancelled', rerun_as: body.new_run_id } });
    expect((await admin.get(`api/runs/${body.new_run_id}`)).body).toMatchObject({ status: 'ready', rerun_of: run.id });
  });

  test.each(VERBS)("DASH-13 expected_status of %s is asked under the run's lock", async (verb) => {
    const from = { resume: 'paused', resume_at: 'paused', skip: 'waiting', rerun: 'finished' }[verb] ?? 'ready';
    const run = await inStatus(from as RunStatus);
    const other = from === 'ready' ? 'waiting' : 'ready';
    expect(await act(run, verb, { expected_status: other })).toMatchObject({
      status: 409,
      body: { ok: false, code: 'INVALID_TRANSITION', run: { status: from } },
    });
    expect(await act(run, verb, { expected_status: from })).toMatchObject({ status: 200, body: { ok: true } });
  });

  test.each(['signal', 'cancel'])(
    'DASH-13 %s is refused when the run moves on between the request and the lock',
    async (verb) => {
      const run = await start();
      let answer: Promise<{ status: number; body: any }> | undefined;
      await admin.app.get(DataSource).transaction(async (manager) => {
        await run.pause({ manager });
        // It would be legal in the one status as in the other.
        answer = act(run, verb, { expected_status: 'ready' });
        await untilWaitingForLocks(suite, 1);
      });
      expect(await answer).toMatchObject({ status: 409, body: { ok: false, run: { status: 'paused' } } });
      expect((await trail(run)).at(-1)).toBe('paused');
      expect((await act(run, verb, { expected_status: 'paused' })).status).toBe(200);
    },
  );

  test('DASH-12 SIG-11 SIG-18 a signal is a name and a JSON object; sent twice with one key it is stored once', async () => {
    const run = await admin.workflows.start(Waits);
    await makeWait(sql, run);
    const before = await allRows(sql);
    for (const payload of [[], [1], 'text', 7, true]) {
      expect(await act(run, 'signal', { payload })).toMatchObject({
        status: 400,
        body: { field: 'payload', message: 'payload must be a JSON object.' },
      });
    }
    const nested = (levels: number): object => (levels === 1 ? {} : { deeper: nested(levels - 1) });
    expect(await act(run, 'signal', { payload: nested(102) })).toMatchObject({
      status: 400,
      body: { field: 'payload', message: expect.stringContaining('100 levels') },
    });
    for (const name of [undefined, null, '', '  ', 7, 'x'.repeat(256), 'a\0b']) {
      expect(await act(run, 'signal', { name })).toMatchObject({ status: 400, body: { field: 'name' } });
    }
    expect(await act(run, 'signal', { payload: { text: 'x'.repeat(131_072) } })).toMatchObject({ status: 413 });
    expect(await allRows(sql)).toEqual(before);

    const once = { name: 'go', payload: { n: 1 }, idempotency_key: 'form-1', expected_status: 'waiting' };
    const [first, again] = [await act(run, 'signal', once), await act(run, 'signal', once)];
    expect(first).toMatchObject({
      status: 200,
      body: { ok: true, duplicate_delivery: false, run: { status: 'ready' } },
    });
    expect(again).toMatchObject({
      status: 200,
      body: { ok: true, duplicate_delivery: true, signal_id: first.body.signal_id },
    });
    expect(
      await sql('select name, payload, idempotency_key from workflow_signals where workflow_id = $1', [run.id]),
    ).toEqual([{ name: 'go', payload: { n: 1 }, idempotency_key: 'form-1' }]);
    await run.cancel();
    expect(await act(run, 'signal', { name: 'go' })).toMatchObject({
      status: 409,
      body: { ok: false, code: 'NOT_ONGOING' },
    });
    // AMB-16
    expect(await act(run, 'signal', once)).toMatchObject({ status: 200, body: { duplicate_delivery: true } });
  });

  test('a payload that the class has a DTO for is checked by it', async () => {
    const run = await admin.workflows.start(Approval);
    const sent = (payload: object) => act(run, 'signal', { name: 'approved', payload });
    expect(await sent({ answer: 'perhaps' })).toMatchObject({
      status: 400,
      body: { code: 'PAYLOAD_VALIDATION', message: expect.stringContaining('answer') },
    });
    expect(await run.signals()).toEqual([]);
    expect((await sent({ answer: 'yes' })).status).toBe(200);
  });

  test('OPS-08 a step that is not declared is refused by name', async () => {
    const run = await inStatus('paused');
    const { status, body } = await act(run, 'resume_at', { step: 'nowhere' });
    expect([status, body.code, body.run.status]).toEqual([409, 'STEP_NOT_DEFINED', 'paused']);
    expect(body.reason).toContain('Declared: one, two, three');
  });

  test('DASH-01 DASH-04 the list filters and pages; DASH-20 wrong parameters are 400 and named', async () => {
    const of = (query: string) => admin.get(`api/runs?${query}`);
    const runs = await admin.workflows.startMany(
      NamedOrder,
      [1, 2, 3, 4, 5].map((n) => ({ subject: new Order(`list-${n}`) })),
    );
    const mine = 'class=Shop%3AOrder%2Fv1.2';
    await runs[0].pause();
    const pages: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await of(`${mine}&limit=2&created_from=2020-01-01${cursor}`);
      pages.push(...body.runs.map((run: any) => run.id));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(pages).toEqual(runs.map(({ id }) => id).toReversed());
    const ids = async (query: string) => (await of(query)).body.runs.map((run: any) => run.id);
    expect(
      await ids(`${mine}&state=paused&stuck_reason=paused_manual&step=one&subject_type=Order&subject_id=list-1`),
    ).toEqual([runs[0].id]);
    expect(await ids(`id=${runs[1].id}&state=&class=`)).toEqual([runs[1].id]);
    expect(await ids(`${mine}&created_to=2020-01-01T00:00:00+02:00`)).toEqual([]);

    for (const [field, value] of Object.entries({
      state: 'asleep',
      id: '7',
      created_from: 'yesterday',
      created_to: '2026-02-30',
      ended_from: '2026-01-01T10:00',
      ended_to: '9'.repeat(30),
      stuck_reason: 'bad',
      limit: '0',
      cursor: 'bm9uZQ',
      class: 'x'.repeat(256),
      step: '%00',
      error_class: 'x'.repeat(256),
      subject_type: '%00',
      subject_id: '%00',
      '<b>': '1',
    })) {
      const { status, body } = await of(`${field}=${value}`);
      expect([field, status, body.field]).toEqual([field, 400, field]);
    }
    for (const limit of ['201', '-1', '1e2', '1.5', '0x10', 'NaN', '99999999999999999999']) {
      expect(await of(`limit=${limit}`)).toMatchObject({ status: 400, body: { field: 'limit' } });
    }
    expect(await of('state=all&state=paused')).toMatchObject({
      status: 400,
      body: { field: 'state', message: 'state is given twice.' },
    });
  });

  test('DASH-20 an unknown run is 404, whatever is wanted of it', async () => {
    const before = await allRows(sql);
    for (const id of [randomUUID(), '7', "'--", '%00', '%2e%2e%2f']) {
      for (const answer of [
        await admin.get(`api/runs/${id}`),
        await admin.get(`api/runs/${id}/events`),
        ...(await Promise.all(VERBS.map((verb) => act({ id }, verb)))),
      ]) {
        expect([id, answer.status, answer.body.code]).toEqual([id, 404, 'WORKFLOW_NOT_FOUND']);
      }
    }
    expect(await allRows(sql)).toEqual(before);
  });

  test('DASH-15 the subject is a link where subjectUrl gives one that a link may lead to', async () => {
    const urls: Record<string, string | null> = {
      fine: '/Order/4?tab=1', url: 'https://shop.example/4', script: null, throws: null, '//evil.example': null, '/\\evil.example': null,
      '/\t/evil.example': null, ' ': null, 'http://': null, 'ftp://x': null, 'JaVaScRiPt:alert(1)': null, 'data:text/html,x': null, 'HTTPS://x.example': 'HTTPS://x.example', orders: null,
    }; // prettier-ignore
    for (const [id, url] of Object.entries(urls)) {
      if (id.trim() === '') continue;
      const run = await admin.workflows.start(NamedOrder, { subject: new Order(id) });
      const { body } = await admin.get(`api/runs/${run.id}`);
      expect([id, body.subject, body.subject_url]).toEqual([id, { type: 'Order', id }, url]);
      const listed = await admin.get(`api/runs?id=${run.id}`);
      expect(listed.body.runs[0].subject_url).toBe(url);
    }
    expect((await admin.get(`api/runs/${(await start()).id}`)).body).toMatchObject({
      subject: null,
      subject_url: null,
    });
  });

  test('DASH-16 DASH-17 DASH-18 AMB-30 attention lists groups, and a press acts on one', async () => {
    const runs = await admin.workflows.startMany(NamedStuck, [{}, {}, {}]);
    for (const run of runs) await run.pause();
    const list = async () => (await admin.get('api/attention?class=NamedStuck')).body;
    const { groups, groups_total } = await list();
    expect(groups_total).toBe(1);
    expect(groups).toEqual([
      expect.objectContaining({
        class: 'NamedStuck',
        step: 'one',
        reason: 'paused_manual',
        error_class: null,
        runs: 3,
      }),
    ]);
    const group = { class: 'NamedStuck', step: 'one', stuck_reason: 'paused_manual', error_class: null };
    expect(await admin.post('api/attention/resume', { ...group, stuck_reason: 'stalled' })).toMatchObject({
      status: 409,
      body: { ok: false, done: 0 },
    });
    expect(
      await admin.post('api/attention/resume', { ...group, reason: 'all is well' }, { 'x-user': 'olga' }),
    ).toMatchObject({
      status: 200,
      body: { ok: true, done: 3, moved_on: 0, reason: expect.stringMatching(/^Resumed 3/) },
    });
    for (const run of runs) {
      expect(
        await sql(`select actor, reason from workflow_events where workflow_id = $1 and name = 'resumed'`, [run.id]),
      ).toEqual([{ actor: 'dashboard:olga', reason: 'all is well' }]);
    }
    expect((await list()).groups).toEqual([]);
    await runs[0].pause();
    expect((await admin.post('api/attention/cancel', group)).body).toMatchObject({ ok: true, done: 1 });
    for (const [field, body] of Object.entries({
      stuck_reason: { ...group, stuck_reason: 'x' },
      class: { ...group, class: undefined },
      step: { ...group, step: 7 },
      error_class: { ...group, error_class: [] },
      runs: { ...group, runs: ['x'] },
    }))
      // prettier-ignore
      expect(await admin.post('api/attention/cancel', body)).toMatchObject({ status: 400, body: { field } });
  });

  test('DASH-19 INS-12 INS-17 summary and definitions; a name with ":", "." and "/" can be opened', async () => {
    expect((await admin.get('api/summary')).body).toMatchObject({
      ongoing: expect.any(Number),
      stuck: expect.any(Number),
      queues: expect.any(Array),
      workers: expect.any(Array),
    });
    const named = encodeURIComponent('Shop:Order/v1.2');
    const [list, page] = [
      await admin.get('api/definitions?window=7d'),
      await admin.get(`api/definitions/${named}?window=7d`),
    ];
    expect(list.status).toBe(200);
    expect(list.body.definitions.map((one: any) => one.class)).toContain('Shop:Order/v1.2');
    expect(page).toMatchObject({ status: 200, body: { class: 'Shop:Order/v1.2' } });
    for (const window of ['2h', '24', '1h;']) {
      expect(await admin.get(`api/definitions?window=${window}`)).toMatchObject({
        status: 400,
        body: { field: 'window' },
      });
      expect(await admin.get(`api/definitions/${named}?window=${window}`)).toMatchObject({
        status: 400,
        body: { field: 'window' },
      });
    }
    for (const name of ['Nobody', '%00', '__proto__', 'constructor']) {
      expect(await admin.get(`api/definitions/${name}`)).toMatchObject({ status: 404, body: { statusCode: 404 } });
    }
  });

  test.each([
    ['an Observable of false', observableOf(false)],
    ['an empty list of roles', []],
    ['a word', 'no'],
    ['a refusal that says 200', Promise.reject(new HttpException('no', 200))],
    ['nothing', undefined],
  ])('DASH-20 only true lets a verb through: %s does not', async (_what, answer) => {
    await Promise.resolve(answer).catch(() => undefined);
    const run = await start();
    can = () => answer as never;
    const { status } = await admin.post(`api/runs/${run.id}/cancel`, {});
    expect(status).toBeGreaterThanOrEqual(400);
    expect((await run.reload()).status).toBe('ready');
  });

  test('a run that somebody holds has at most four connections of the pool waiting for it, however many verbs are sent', async () => {
    const run = await start();
    const lock = await holdRuns(suite, [run.id]);
    const answers = Array.from({ length: 12 }, () => act(run, 'pause'));
    await untilWaitingForLocks(suite, 4);
    // The application's own calls find a connection; by then the twelve would all have one.
    const other = await start();
    await other.pause();
    expect(await waitingForLocks(suite)).toBe(4);
    await lock.release();
    const statuses = (await Promise.all(answers)).map(({ status }) => status).toSorted((one, two) => one - two);
    expect(statuses).toEqual([200, ...Array<number>(11).fill(409)]);
  });

  test('whoever may not is told so, and nothing is done: can is asked for lists, runs, verbs and groups', async () => {
    const run = await inStatus('paused');
    const before = await allRows(sql);
    const asked: unknown[] = [];
    can = async (_request, action, about) => {
      asked.push([action, about && [about.id, about.class, about.status, about.step, about.subject]]);
      return false;
    };
    const refused = [await admin.get('api/runs'), await admin.get('api/summary'), await admin.get(`api/runs/${run.id}`), await act(run, 'cancel'), await act(run, 'resume_at'),
      await admin.post('api/attention/cancel', { class: 'X', step: 'y', stuck_reason: 'stalled' })]; // prettier-ignore
    for (const { status, body } of refused)
      expect([status, body.code, body.run]).toEqual([403, 'FORBIDDEN', undefined]);
    const about = [run.id, 'Scripted', 'paused', 'one', null];
    expect(asked).toEqual([['read', null], ['read', null], ['read', about], ['cancel', about], ['resume_at', about], ['cancel', null]]); // prettier-ignore
    expect(await allRows(sql)).toEqual(before);
    can = (_request, action) => action === 'read';
    expect((await admin.get(`api/runs/${run.id}`)).status).toBe(200);
    expect((await act(run, 'cancel')).status).toBe(403);
  });

  test('DASH-21 what was sent comes back as JSON that no browser could take for a page', async () => {
    const html = '</script><img src=x onerror=alert(1)>&\u2028';
    const run = await start();
    await act(run, 'pause', { reason: html }, { 'x-user': '<b>' });
    const answers = [await admin.get(`api/runs/${run.id}/events`), await act(run, 'signal', { name: html }), await admin.get(`api/runs/${run.id}`), await act(run, 'cancel', { '<b>': 1 })]; // prettier-ignore
    for (const { text, headers } of answers) {
      expect(text).not.toMatch(/[<>&\u2028]/);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
    }
    expect(answers[0].body.events.at(-1)).toMatchObject({ reason: html, actor: 'dashboard:<b>' });
    expect(answers[2].body.signals[0].name).toBe(html);
  });

  test('a page of another site cannot act, by any way that a browser has', async () => {
    const run = await start();
    const before = await allRows(sql);
    const host = new URL(admin.url).host;
    const json = { 'content-type': 'application/json' };
    const cancel = (headers: Record<string, string>, body = '{}') =>
      admin.send(`api/runs/${run.id}/cancel`, { method: 'POST', headers, body });
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { origin: `ftp://${host}` },
      { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' },
    ] as Record<string, string>[]) {
      // prettier-ignore
      const answer = await cancel({ ...json, ...headers });
      expect([headers, answer.status, answer.body.code]).toEqual([headers, 403, 'CROSS_SITE']);
    }
    // What a form can send without being asked.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'text/plain; application/json',
    ]) {
      expect([type, (await cancel({ 'content-type': type }, '{"a":"b"}')).status]).toEqual([type, 415]);
    }
    const form = new FormData();
    form.set('reason', 'x');
    expect((await admin.send(`api/runs/${run.id}/cancel`, { method: 'POST', body: form })).status).toBe(415);
    expect((await admin.get(`api/runs/${run.id}/cancel`)).status).toBe(404);
    expect(await allRows(sql)).toEqual(before);
    for (const headers of [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { origin: `http://${host}` },
    ]) {
      const other = await start();
      expect((await act(other, 'cancel', {}, headers)).status).toBe(200);
    }
  });

  test('a body that is not JSON, too large, or not what the verb takes is a 4xx, and nothing is done', async () => {
    const run = await start();
    const before = await allRows(sql);
    const sent = (body: string) =>
      admin.send(`api/runs/${run.id}/cancel`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    for (const body of ['', '{', 'nonsense', '"text"', '[]', '7', 'null', '[{}]'])
      expect([body, (await sent(body)).status]).toEqual([body, 400]);
    const quoted = await sent('{"reason": <script>alert(1)</script>');
    expect([quoted.status, /script/.test(quoted.text), quoted.body.statusCode]).toEqual([400, false, 400]);
    // Express takes these for the same paths, or parses before it knows that there is none.
    for (const path of ['/admin/workflows/api', '/ADMIN/Workflows/api/runs', '/admin//workflows/api/runs']) {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '<script>' };
      const { status, text } = await admin.send(path, init);
      expect([path, status, /script/.test(text)]).toEqual([path, 400, false]);
    }
    expect((await sent(JSON.stringify({ reason: 'x'.repeat(2 ** 21) }))).status).toBe(413);
    for (const [field, body] of [
      ['reason', { reason: 7 }], ['reason', { reason: 'x'.repeat(1_001) }], ['reason', { reason: ['x'] }], ['expected_status', { expected_status: 'gone' }], ['step', { step: 'one' }],
      ['actor', { actor: 'root' }], ['manager', { manager: {} }], ['constructor', { constructor: 1 }], ['toString', { toString: 1 }],
    ] as [string, object][]) expect(await act(run, 'cancel', body)).toMatchObject({ status: 400, body: { code: 'INVALID_INPUT', field } }); // prettier-ignore
    expect((await sent('{"__proto__": {"reason": "x"}}')).status).toBe(400);
    for (const at of [
      undefined,
      null,
      '',
      'soon',
      '2026-02-30T00:00:00Z',
      '2026-01-01T00:00:00',
      '+010000-01-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      7,
      {},
      '2026-13-01',
    ])
      expect([at, (await act(run, 'reschedule', { at })).body.field]).toEqual([at, 'at']);
    expect(await allRows(sql)).toEqual(before);
  });
});
