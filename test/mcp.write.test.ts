import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import {
  defineSignal,
  Step,
  Workflow,
  WorkflowOf,
  type RunStatus,
  type Verb,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { ForbiddenException, InternalServerErrorException, Logger } from '@nestjs/common';
import { IsIn } from 'class-validator';
import { DataSource } from 'typeorm';
import { bootMcp, type McpApp, type McpClient } from './support/mcp';
import { holdRuns, untilWaitingForLocks } from './support/locks';
import { leaveInProgress } from './support/lost-worker';
import { allRows, makeWait } from './support/rows';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { waiting } from './support/waits';

const STATUSES = ['ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled'] as const;
/** What each tool that acts is, as `available_actions` spells it. */
const VERB_OF: Record<string, Verb> = {
  workflow_resume: 'resume',
  workflow_cancel: 'cancel',
  workflow_skip_step: 'skip',
  workflow_resume_at: 'resume_at',
  workflow_run_now: 'run_now',
  workflow_signal: 'signal',
};
const TOOLS = Object.keys(VERB_OF);
const NOBODY = '01890000-0000-7000-8000-000000000000';
const SENTENCE = 'Something unexpected happened; the log of the application says what.';

class ApprovalDto {
  @IsIn(['yes', 'no'])
  answer!: string;
}
const Approved = defineSignal('approved', ApprovalDto);

@Workflow()
class Approval extends WorkflowOf<null, { card: string }> {
  @Step({ waitFor: Approved })
  async decide() {}
}

const Waits = waiting();

describe('the MCP write tools', () => {
  const suite = workflowSuite();
  const { sql, trail } = suite;
  let app: McpApp;
  let agent: McpClient;
  /** What `can` is to say, when a test has an opinion. */
  let can: ((request: any, action: string, run: any) => boolean) | undefined;

  beforeAll(async () => {
    app = await bootMcp(suite, {
      providers: [Scripted, Waits, Approval],
      mcp: {
        writeTools: true,
        allowPayloads: true,
        maxPayloadSize: 1_000,
        can: (request, action, run) => (can ? can(request, action, run) : true),
        actor: ({ headers }) => headers['x-user'],
      },
    });
    agent = await app.connect({ name: 'an agent' });
  });
  afterEach(() => (can = undefined));
  afterAll(() => app?.close());

  const start = (): Promise<WorkflowHandle> => app.workflows.start(Scripted, script({}));
  const given = (tool: string, run: { id: string }, more: object = {}) => ({
    workflow_id: run.id,
    reason: 'asked to',
    ...(tool === 'workflow_resume_at' && { step: 'two' }),
    ...(tool === 'workflow_signal' && { name: 'hello' }),
    ...more,
  });
  const act = (tool: string, run: { id: string }, more: object = {}) => agent.call(tool, given(tool, run, more));
  const lastEvent = async (run: { id: string }) =>
    (await sql('select name, actor, reason from workflow_events where workflow_id = $1 order by id desc limit 1', [run.id]))[0]; // prettier-ignore

  async function inStatus(status: RunStatus): Promise<WorkflowHandle> {
    const run = await start();
    if (status === 'performing') await leaveInProgress(sql, run);
    if (status === 'waiting') await makeWait(sql, run);
    if (status === 'paused') await run.pause();
    if (status === 'finished') await createWorkflowTester(app.app as never).speedrun(run);
    if (status === 'cancelled') await run.cancel();
    return run.reload();
  }

  test('MCP-03 MCP-04 MCP-14 exactly six tools are added, by writeTools alone; they are marked as destructive, cancel as idempotent', async () => {
    const { tools } = await agent.client.listTools();
    const writing = tools.filter(({ annotations }) => !annotations!.readOnlyHint);
    expect(writing.map(({ name }) => name)).toEqual(TOOLS);
    expect(tools).toHaveLength(TOOLS.length + 5);
    for (const { name, annotations, inputSchema } of writing) {
      expect(annotations).toEqual({
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: name === 'workflow_cancel',
        openWorldHint: false,
      });
      expect(inputSchema.required).toEqual(expect.arrayContaining(['workflow_id', 'reason']));
      expect(inputSchema.properties).toMatchObject({ reason: { minLength: 1, maxLength: 500 }, expected_status: {} });
    }
    const fields = (name: string) => Object.keys(writing.find((tool) => tool.name === name)!.inputSchema.properties!);
    expect(fields('workflow_resume_at')).toEqual(['workflow_id', 'reason', 'expected_status', 'step']);
    expect(fields('workflow_signal').slice(3)).toEqual(['name', 'payload', 'idempotency_key']);

    const reading = await bootMcp(suite);
    try {
      const reader = await reading.connect();
      expect((await reader.client.listTools()).tools).toHaveLength(5);
      const run = await start();
      const before = await allRows(sql);
      for (const name of [...TOOLS, 'workflow_pause', 'constructor', '__proto__']) {
        await expect(reader.client.callTool({ name, arguments: given(name, run) })).rejects.toMatchObject({
          code: -32602,
          message: expect.stringContaining('Unknown tool'),
        });
      }
      for (const name of ['workflow_pause', 'workflow_reschedule', 'workflow_rerun', 'workflows_resume', 'toString']) {
        await expect(agent.client.callTool({ name, arguments: given(name, run) })).rejects.toMatchObject({
          code: -32602,
        });
      }
      expect(await allRows(sql)).toEqual(before);
    } finally {
      await reading.close();
    }
  });

  test.each(STATUSES)(
    'MCP-07 MCP-08 MCP-10 OPS-33 OPS-34 AMB-01 on a run that is %s each of available_actions is done, each other tool is refused with what is allowed, and changes nothing',
    async (status) => {
      const available = (await agent.call('workflow', { workflow_id: (await inStatus(status)).id })).body
        .available_actions;
      for (const tool of TOOLS) {
        const run = await inStatus(status);
        const legal = available.includes(VERB_OF[tool]);
        const before = await allRows(sql);
        const { body, isError } = await act(tool, run);
        expect([tool, body.ok, isError]).toEqual([tool, legal, false]);
        const {
          args: _args,
          attempts: _attempts,
          signals: _signals,
          pauses: _pauses,
          events: _events,
          ...now
        } = (await agent.call('workflow', { workflow_id: run.id })).body;
        expect(body.workflow).toMatchObject({
          id: run.id,
          status: now.status,
          available_actions: now.available_actions,
        });
        // The words tell ages, and the rest is the run as it is now; nothing in it can carry a payload.
        expect(Object.keys(now)).toEqual(expect.arrayContaining(Object.keys(body.workflow)));
        if (legal) continue;
        expect(await allRows(sql)).toEqual(before);
        expect(body).toMatchObject({ allowed: available, status, code: expect.stringMatching(/^[A-Z_]+$/) });
        expect(body.reason).toContain(`is ${status}`);
        expect(body.reason).toContain(body.workflow.now);
      }
    },
  );

  test('MCP-05 a reason of 1 to 500 characters is required, blanks around it left out', async () => {
    const run = await start();
    const before = await allRows(sql);
    for (const tool of TOOLS) {
      for (const reason of ['', '   ', '\n\t', undefined, null, 7, 'x'.repeat(501), `  ${'é'.repeat(501)} `]) {
        const { body, isError } = await act(tool, run, { reason });
        expect([tool, reason, isError, body]).toEqual([
          tool,
          reason,
          true,
          { ok: false, code: 'INVALID_INPUT', field: 'reason', reason: expect.stringMatching(/^reason must/), workflow: null },
        ]); // prettier-ignore
      }
    }
    expect(await allRows(sql)).toEqual(before);
    expect((await act('workflow_run_now', run, { reason: `  ${'👍'.repeat(500)}\n` })).body.ok).toBe(true);
    expect((await lastEvent(run)).reason).toBe('👍'.repeat(500));
  });

  test.each(TOOLS)('MCP-06 expected_status of %s that the run does not have: nothing is done', async (tool) => {
    const from = { workflow_resume: 'paused', workflow_resume_at: 'paused', workflow_skip_step: 'waiting' }[tool] ?? 'ready'; // prettier-ignore
    const run = await inStatus(from as RunStatus);
    const before = await allRows(sql);
    // Somebody holds the run: this is answered before anybody waits for its lock.
    const held = await holdRuns(suite, [run.id]);
    const other = from === 'ready' ? 'waiting' : 'ready';
    const { body } = await act(tool, run, { expected_status: other });
    await held.release();
    expect(body).toMatchObject({
      ok: false,
      code: 'INVALID_TRANSITION',
      status: from,
      reason: expect.stringContaining(`is ${from}, not ${other}`),
      workflow: { id: run.id, status: from },
    });
    expect(await allRows(sql)).toEqual(before);
    expect((await act(tool, run, { expected_status: from })).body.ok).toBe(true);
  });

  test('MCP-07 MCP-08 a run that is not there, wrong arguments, somebody who may not: ok is false, and nothing was changed', async () => {
    const run = await start();
    const before = await allRows(sql);
    for (const tool of TOOLS) {
      const nobody = await act(tool, { id: NOBODY });
      expect([tool, nobody.isError, nobody.body]).toEqual([
        tool,
        false,
        { ok: false, code: 'WORKFLOW_NOT_FOUND', reason: expect.stringContaining(NOBODY), workflow: null },
      ]);
      for (const [field, wrong] of [
        ['workflow_id', { workflow_id: 'x' }],
        ['expected_status', { expected_status: 'ongoing' }],
        // A model's blank is no leave to act without it.
        ['expected_status', { expected_status: '' }],
        ['expected_status', { expected_status: null }],
        ['actor', { actor: 'root' }],
        ['at', { at: '2999-01-31' }],
        ['manager', { manager: {} }],
      ] as const) {
        const { isError, body } = await act(tool, run, wrong);
        expect([tool, isError, body]).toMatchObject([tool, true, { ok: false, code: 'INVALID_INPUT', field }]);
      }
      can = (_request, action, seen) => action !== VERB_OF[tool] || seen.id !== run.id;
      expect([tool, await act(tool, run)]).toMatchObject([
        tool,
        { isError: true, body: { ok: false, code: 'FORBIDDEN', workflow: null } },
      ]);
      can = () => {
        throw new ForbiddenException('not on a Friday');
      };
      expect((await act(tool, run)).body).toMatchObject({ ok: false, reason: 'not on a Friday' });
      can = undefined;
    }
    const paused = await inStatus('paused');
    const then = await allRows(sql);
    expect((await act('workflow_resume_at', paused, { step: 'nowhere' })).body).toMatchObject({
      ok: false,
      code: 'STEP_NOT_DEFINED',
      reason: expect.stringContaining('Declared: one, two, three'),
    });
    expect((await act('workflow_resume_at', paused, { step: ' ' })).body).toMatchObject({ ok: false, field: 'step' });
    expect(await allRows(sql)).toEqual(then);
    expect(before).not.toEqual(then);
  });

  test('MCP-09 the event has the reason and who did it: what the application says, else what the client calls itself', async () => {
    const resumed = async (client: McpClient) => {
      const run = await inStatus('paused');
      await client.call('workflow_resume', given('workflow_resume', run, { reason: ' SMTP is up again ' }));
      return lastEvent(run);
    };
    const event = { name: 'resumed', reason: 'SMTP is up again' };
    expect(await resumed(agent)).toEqual({ ...event, actor: 'mcp:an agent' });
    expect(await resumed(await app.connect({ headers: { 'x-user': 'alice' } }))).toEqual({
      ...event,
      actor: 'mcp:alice',
    });
    expect(await resumed(await app.connect({ name: '  ' }))).toEqual({ ...event, actor: 'mcp' });
    expect(await resumed(await app.connect({ name: `é\n\u202e${'x'.repeat(300)}` }))).toEqual({
      ...event,
      // What breaks or turns a line of the trail is left out.
      actor: `mcp:é ${'x'.repeat(98)}`,
    });
    // As the dashboard's press leaves it, but for the actor.
    const [mine, theirs] = [await inStatus('paused'), await inStatus('paused')];
    await act('workflow_resume', mine, { reason: 'same' });
    await app.post(`api/runs/${theirs.id}/resume`, { reason: 'same' });
    const left = async (run: WorkflowHandle) => ({
      status: (await run.reload()).status,
      events: (await run.events()).map(({ name, stepName, attempt, reason, details }) => ({ name, stepName, attempt, reason, details })),
      steps: (await run.steps()).map(({ stepName, attempt, status, outcome }) => ({ stepName, attempt, status, outcome })),
    }); // prettier-ignore
    expect(await left(mine)).toEqual(await left(theirs));
  });

  test('MCP-09 another process, that never saw the client connect, knows its name', async () => {
    const other = await bootMcp(suite, { mcp: { writeTools: true } });
    try {
      const run = await inStatus('paused');
      const session = await connectRaw(app.url);
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'workflow_resume', arguments: given('workflow_resume', run) } }; // prettier-ignore
      const answer = await sendRaw(other.url, message, { 'mcp-session-id': session });
      expect(answer.result.structuredContent.ok).toBe(true);
      expect((await lastEvent(run)).actor).toBe('mcp:raw');
      const nonsense = await inStatus('paused');
      const again = { ...message, params: { ...message.params, arguments: given('workflow_resume', nonsense) } };
      await sendRaw(other.url, again, { 'mcp-session-id': '../../x' });
      expect((await lastEvent(nonsense)).actor).toBe('mcp');
    } finally {
      await other.close();
    }
  });

  test('MCP-02 MCP-10 what acts shows no payload, whatever the server permits and the call asks for', async () => {
    const run = await app.workflows.start(Approval, { args: { card: '4111' } });
    await createWorkflowTester(app.app as never).performNextStep(run).catch(() => undefined); // prettier-ignore
    const answers = [
      await act('workflow_signal', run, { name: 'other', payload: { card: '4111' } }),
      await act('workflow_resume', run),
      await act('workflow_cancel', run),
    ];
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain('4111');
    expect(answers.map(({ body }) => body.ok)).toEqual([true, false, true]);
    expect((await act('workflow_cancel', await start(), { include_payloads: true })).body).toMatchObject({
      ok: false,
      field: 'include_payloads',
    });
  });

  test.each([
    ['workflow_cancel', { expected_status: 'ready' }, 'pause'],
    ['workflow_signal', { expected_status: 'ready' }, 'pause'],
    ['workflow_run_now', {}, 'pause'],
    ['workflow_cancel', {}, 'cancel'],
  ] as const)(
    'MCP-06 MCP-11 %s %j is refused by its own guarded update when the run moves on (%s) between the check and the update',
    async (tool, more, move) => {
      const run = await start();
      let answer: ReturnType<typeof act> | undefined;
      await app.app.get(DataSource).transaction(async (manager) => {
        await run[move]({ manager });
        // What the call reads first is the run before this commits: its check passes, and it waits for the lock.
        answer = act(tool, run, more);
        await untilWaitingForLocks(suite, 1);
      });
      const before = await allRows(sql);
      const status = move === 'pause' ? 'paused' : 'cancelled';
      expect((await answer!).body).toMatchObject({
        ok: false,
        code: 'INVALID_TRANSITION',
        status,
        allowed: expect.any(Array),
        workflow: { id: run.id, status },
      });
      expect((await trail(run)).at(-1)).toBe(status);
      expect(await allRows(sql)).toEqual(before);
    },
  );

  test('MCP-11 a run that somebody holds is not waited for without end', async () => {
    const run = await start();
    const held = await holdRuns(suite, [run.id]);
    expect((await act('workflow_cancel', run)).body).toMatchObject({
      ok: false,
      code: 'LOCK_TIMEOUT',
      status: 'ready',
    });
    await held.release();
    expect((await act('workflow_cancel', run)).body.ok).toBe(true);
  });

  test('MCP-13 a signal: a JSON object of at most maxPayloadSize bytes, once a key, held to the DTO of its class', async () => {
    const run = await app.workflows.start(Waits, {});
    await createWorkflowTester(app.app as never).performNextStep(run).catch(() => undefined); // prettier-ignore
    const signal = (more: object) => act('workflow_signal', run, { name: 'go', ...more });
    const before = await allRows(sql);
    const deep = JSON.parse(`${'{"a":'.repeat(150)}1${'}'.repeat(150)}`);
    for (const payload of ['{}', [], 7, true, deep]) {
      const { isError, body } = await signal({ payload });
      const reason = expect.stringMatching(/^payload must/);
      expect([isError, body]).toMatchObject([true, { ok: false, field: 'payload', reason }]);
    }
    // 1,000 bytes, of which a character has two: `{"a":""}` are eight.
    const fits = { a: 'é'.repeat(496) };
    expect((await signal({ payload: { a: `${fits.a}x` } })).body).toMatchObject({
      ok: false,
      code: 'PAYLOAD_TOO_LARGE',
      field: 'payload',
      reason: expect.stringContaining('1001 bytes'),
    });
    for (const name of ['', 'x'.repeat(256), null]) expect((await signal({ name })).body).toMatchObject({ ok: false, field: 'name' }); // prettier-ignore
    expect(await allRows(sql)).toEqual(before);

    const first = await signal({ payload: fits, idempotency_key: 'once' });
    expect(first.body).toMatchObject({ ok: true, duplicate_delivery: false, workflow: { status: 'ready' } });
    const again = await signal({ payload: fits, idempotency_key: 'once', expected_status: 'waiting' });
    expect(again.body).toMatchObject({ ok: true, duplicate_delivery: true, signal_id: first.body.signal_id });
    expect(again.body.signal_id).toMatch(/^\d+$/);
    expect(await run.signals()).toMatchObject([{ payload: fits, idempotencyKey: 'once' }]);
    for (const key of ['', '  ', null]) expect((await signal({ idempotency_key: key })).body.duplicate_delivery).toBe(false); // prettier-ignore
    expect((await run.signals()).map(({ idempotencyKey }) => idempotencyKey)).toEqual(['once', null, null, null]);

    const approval = await app.workflows.start(Approval, { args: { card: '' } });
    const held = await allRows(sql);
    const wrong = await act('workflow_signal', approval, { name: 'approved', payload: { answer: 'perhaps' } });
    expect(wrong.body).toMatchObject({ ok: false, code: 'PAYLOAD_VALIDATION' });
    expect(await allRows(sql)).toEqual(held);
    expect((await act('workflow_signal', approval, { name: 'approved', payload: { answer: 'yes' } })).body.ok).toBe(
      true,
    );
  });

  test('MCP-12 of what nobody expected a client reads one sentence, and the log has the rest, without what was sent', async () => {
    const logged: string[] = [];
    const keep = (...all: unknown[]) => void logged.push(all.join('\n'));
    Logger.overrideLogger({ log() {}, warn() {}, error: keep });
    const run = await start();
    const before = await allRows(sql);
    const failures: [string, () => never][] = [
      ['TypeError: secret of the house', () => { throw new TypeError('secret of the house'); }],
      ['upstream 10.0.0.7', () => { throw new InternalServerErrorException('upstream 10.0.0.7'); }],
    ]; // prettier-ignore
    for (const [said, fail] of failures) {
      can = fail;
      for (const tool of TOOLS) {
        const { isError, body, text } = await act(tool, run, { reason: 'a reason' });
        expect([isError, body]).toEqual([true, { ok: false, reason: SENTENCE, workflow: null }]);
        expect(text).not.toContain(said);
      }
      for (const [tool, input] of [['workflow', { workflow_id: run.id }], ['workflows', {}], ['workflow_stats', {}]] as const) {
        expect(await agent.call(tool, input)).toEqual({ isError: true, body: undefined, text: SENTENCE });
      } // prettier-ignore
      expect(logged.join('\n')).toContain(said);
      expect(logged.join('\n')).not.toContain('a reason');
    }
    can = undefined;
    // Something of the database's own: a table that is gone.
    logged.length = 0;
    await sql('alter table workflow_steps rename to workflow_steps_away');
    try {
      expect(await agent.call('workflows')).toEqual({ isError: true, body: undefined, text: SENTENCE });
      expect((await act('workflow_cancel', run)).body).toEqual({ ok: false, reason: SENTENCE, workflow: null });
    } finally {
      await sql('alter table workflow_steps_away rename to workflow_steps');
    }
    expect(logged.join('\n')).toMatch(/relation .*workflow_steps.* does not exist/);
    expect(await allRows(sql)).toEqual(before);
  });

  test('MCP-12 a database that is gone is the same sentence', async () => {
    const lost = await bootMcp(suite, { mcp: { writeTools: true } });
    try {
      const client = await lost.connect();
      await lost.app.get(DataSource).destroy();
      expect(await client.call('workflows')).toEqual({ isError: true, body: undefined, text: SENTENCE });
      expect((await client.call('workflow_cancel', given('workflow_cancel', { id: NOBODY }))).body).toEqual({
        ok: false,
        reason: SENTENCE,
        workflow: null,
      });
    } finally {
      await lost.close().catch(() => undefined);
    }
  });

  const RAW = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: 'Bearer a-token-that-is-long-enough' }; // prettier-ignore
  async function connectRaw(url: string): Promise<string> {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const response = await fetch(`${url}/mcp`, { method: 'POST', headers: RAW, body });
    await response.text();
    return response.headers.get('mcp-session-id')!;
  }
  async function sendRaw(url: string, message: object, headers: Record<string, string>): Promise<any> {
    const init = { method: 'POST', headers: { ...RAW, ...headers }, body: JSON.stringify(message) };
    return (await fetch(`${url}/mcp`, init)).json();
  }
});
