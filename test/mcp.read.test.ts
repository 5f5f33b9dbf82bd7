import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import {
  Step,
  SubjectLoader,
  Workflow,
  WorkflowOf,
  type Ctx,
  type LoadsSubject,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { RunListQuery } from '../libs/workflow/src/admin/run-list.query';
import { WorkflowsInput } from '../libs/workflow/src/mcp/read.inputs';
import { fieldsOf } from '../libs/workflow/src/operating/input-field';
import { bootMcp, type McpApp, type McpClient } from './support/mcp';
import { Parcel, Reminder } from './support/parcels';
import { allRows } from './support/rows';
import { workflowSuite } from './support/suite';

const SECRET = 'card 4111-1111';

@Workflow({ name: 'Shop:Order/v1.2' })
class NamedOrder extends WorkflowOf<null, { card: string }> {
  @Step()
  async pay(ctx: Ctx<this>) {
    throw new TypeError(`declined: ${ctx.args.card}`, { cause: new Error(`bank said no to ${ctx.args.card}`) });
  }
}

class Customer {
  constructor(readonly id: string) {}
}

@SubjectLoader(Customer)
class Customers implements LoadsSubject<Customer> {
  async load(id: string) {
    return new Customer(id);
  }
}

@Workflow({ name: 'Greeting', subject: Customer })
class Greeting extends WorkflowOf<Customer> {
  @Step()
  async greet() {}
}

/** As tools name what REST names otherwise; the page that a subject has is REST's alone. */
const renamed = (body: unknown): any =>
  JSON.parse(
    JSON.stringify(body)
      .replaceAll('"class":', '"workflow_class":')
      .replaceAll('"state":', '"status":')
      .replaceAll(',"subject_url":null', ''),
  );
/** Without what moves on while one looks: ages in words, and what is as of now. */
const lasting = (body: unknown): any =>
  JSON.parse(JSON.stringify(body), (key, value) =>
    ['now', 'next', 'read_at', 'durations', 'from', 'to', 'created_from', 'created_to', 'ended_from', 'ended_to'].includes(key) ||
    key.endsWith('_ms') ||
    key.endsWith('_seconds')
      ? typeof value
      : value,
  ); // prettier-ignore

describe('the MCP read tools', () => {
  const suite = workflowSuite();
  let app: McpApp;
  /** Asks the same application with a server that permits payloads. */
  let open: McpClient;
  let agent: McpClient;
  const runs: Record<string, WorkflowHandle> = {};

  beforeAll(async () => {
    const { WorkflowMcpModule } = await import('nestjs-pg-workflows/mcp');
    app = await bootMcp(suite, {
      providers: [Parcel, Reminder, NamedOrder, Greeting, Customers],
      imports: [WorkflowMcpModule.forRoot({ path: 'open', allowUnauthenticated: true, allowPayloads: true })],
    });
    const { workflows } = app;
    const tester = createWorkflowTester(app.app as never);
    const parcel = (order: string, more: object = {}) => workflows.start(Parcel, { args: { order, ...more } });
    runs.waiting = await parcel('waiting');
    await tester.performNextStep(runs.waiting);
    await tester.performNextStep(runs.waiting).catch(() => undefined);
    runs.finished = await parcel('finished');
    await tester.performNextStep(runs.finished);
    await runs.finished.signal('shipped', { note: SECRET });
    await tester.speedrun(runs.finished);
    for (const name of ['declined', 'declinedToo']) {
      runs[name] = await workflows.start(NamedOrder, { args: { card: SECRET } });
      await tester.performNextStep(runs[name]);
    }
    runs.paused = await workflows.start(Reminder, { args: { order: 'paused' } });
    await runs.paused.pause({ actor: 'dashboard:alice', reason: 'SMTP is down' });
    runs.ready = await workflows.start(Reminder, { args: { order: 'ready' } });
    runs.onPurpose = await workflows.start(NamedOrder, { args: { card: SECRET } });
    await runs.onPurpose.pause();
    runs.about = await workflows.start(Greeting, { subject: new Customer('c-1') });
    agent = await app.connect();
    open = await app.connect({ path: '/open', token: null });
  });
  afterAll(() => app?.close());

  test('MCP-01 MCP-03 the tools are the five that read, with schemas and hints', async () => {
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'workflows',
      'workflow',
      'workflows_attention',
      'workflow_definitions',
      'workflow_stats',
    ]);
    for (const tool of tools) {
      expect(tool.annotations).toEqual({ readOnlyHint: true, destructiveHint: false, openWorldHint: false });
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(tool.outputSchema).toMatchObject({ type: 'object' });
      expect(tool.description!.length).toBeGreaterThan(100);
    }
    const named = (filter: string) =>
      ({ class: 'workflow_class', state: 'status', id: 'workflow_id' })[filter] ?? filter;
    expect([...fieldsOf(WorkflowsInput).keys()].toSorted()).toEqual(
      [...fieldsOf(RunListQuery).keys()].map(named).toSorted(),
    );
  });

  test('MCP-01 INS-17 DATA-13 each tool answers with the data of its page, and changes nothing', async () => {
    const before = await allRows(suite.sql);
    const rest = async (path: string) => (await app.get(`api/${path}`)).body;
    const pages: [string, Record<string, unknown>, string][] = [
      ['workflows', {}, 'runs'],
      ['workflows', { status: 'all' }, 'runs?state=all'],
      ['workflows', { status: 'paused', workflow_class: 'Shop:Order/v1.2', step: 'pay', error_class: 'TypeError' }, 'runs?state=paused&class=Shop%3AOrder%2Fv1.2&step=pay&error_class=TypeError'],
      ['workflows', { workflow_id: runs.finished.id }, `runs?id=${runs.finished.id}`],
      ['workflows', { stuck_reason: 'paused_manual', created_from: '2020-01-31', limit: 1 }, 'runs?stuck_reason=paused_manual&created_from=2020-01-31&limit=1'],
      ['workflows', { ended_from: '2020-01-31T00:00:00+02:00' }, 'runs?ended_from=2020-01-31T00:00:00%2B02:00'],
      ['workflow_definitions', {}, 'definitions'],
      ['workflow_definitions', { window: '7d' }, 'definitions?window=7d'],
      ['workflow_stats', { workflow_class: 'Shop:Order/v1.2' }, 'definitions/Shop%3AOrder%2Fv1.2'],
      ['workflow_stats', { workflow_class: 'Parcel', window: '1h' }, 'definitions/Parcel?window=1h'],
      ['workflow_stats', {}, 'summary'],
    ]; // prettier-ignore
    for (const [tool, given, path] of pages) {
      const { body, isError } = await agent.call(tool, given);
      expect([path, isError, lasting(body)]).toEqual([path, false, lasting(renamed(await rest(path)))]);
    }
    expect((await agent.call('workflow_stats', { workflow_class: 'Shop:Order/v1.2' })).body.pipeline).toHaveLength(1);
    expect((await agent.call('workflows', { status: 'all' })).body.runs).toHaveLength(8);

    for (const run of Object.values(runs)) {
      const { body } = await open.call('workflow', { workflow_id: run.id, include_payloads: true });
      const { class: workflow_class, subject_url: _url, ...page } = await rest(`runs/${run.id}`);
      const { events, next_cursor: events_next_cursor } = await rest(`runs/${run.id}/events`);
      expect(lasting(body)).toEqual(
        lasting({ workflow_class, ...page, payloads_shown: true, events, events_next_cursor }),
      );
      expect(body.available_actions).toEqual([...(await run.reload()).availableActions]);
      for (const { id } of [...body.attempts, ...body.events]) expect(id).toMatch(/^\d+$/);
    }
    const { groups, ...totals } = await rest('attention');
    expect((await open.call('workflows_attention', { include_payloads: true })).body).toEqual({
      ...totals,
      groups: groups.map(({ class: workflow_class, reason: stuck_reason, ...group }: any) => ({
        workflow_class,
        stuck_reason,
        status: 'paused',
        ...group,
      })),
    });
    const narrowed = await agent.call('workflows_attention', { workflow_class: 'Reminder' });
    expect(narrowed.body).toMatchObject({ groups_total: 1, groups: [{ workflow_class: 'Reminder', runs: 1 }] });
    expect(await allRows(suite.sql)).toEqual(before);
  });

  test('MCP-01 each filter takes what it says, as on the page', async () => {
    const all = (await agent.call('workflows', { status: 'all' })).body.runs;
    const { created_at: middle } = all[4];
    const { ended_at: ended } = all.find((run: any) => run.ended_at);
    const filters: [Record<string, string>, string][] = [
      [{ status: 'paused' }, 'state=paused'],
      [{ workflow_class: 'Parcel' }, 'class=Parcel'],
      [{ step: 'remind' }, 'step=remind'],
      [{ error_class: 'TypeError' }, 'error_class=TypeError'],
      [{ stuck_reason: 'paused_error' }, 'stuck_reason=paused_error'],
      [{ subject_type: 'Customer' }, 'subject_type=Customer'],
      [{ subject_id: 'c-1', subject_type: 'Customer' }, 'subject_id=c-1&subject_type=Customer'],
      [{ workflow_id: runs.ready.id }, `id=${runs.ready.id}`],
      [{ created_from: middle }, `created_from=${middle}`],
      [{ created_to: middle }, `created_to=${middle}`],
      [{ ended_from: ended }, `ended_from=${ended}`],
      [{ ended_to: '2999-01-31' }, 'ended_to=2999-01-31'],
    ];
    const ids = (list: { id: string }[]) => list.map(({ id }) => id);
    for (const [given, query] of filters) {
      const found = ids((await agent.call('workflows', { status: 'all', ...given })).body.runs);
      expect([query, found]).toEqual([query, ids((await app.get(`api/runs?${given.status ? '' : 'state=all&'}${query}`)).body.runs)]); // prettier-ignore
      expect([query, found.length > 0 && found.length < all.length]).toEqual([query, true]);
    }
    expect((await agent.call('workflows', { status: 'all', subject_type: 'Customer', subject_id: 'c-2' })).body.runs).toEqual([]); // prettier-ignore
  });

  test('MCP-01 pages follow each other by their cursor', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await agent.call('workflows', { status: 'all', limit: 3, ...(cursor && { cursor }) });
      expect(body.runs.length).toBeLessThanOrEqual(3);
      seen.push(...body.runs.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    } while (cursor);
    expect(seen.toSorted()).toEqual(Object.values(runs).map(({ id }) => id).toSorted()); // prettier-ignore
  });

  test('MCP-02 AMB-32 args, outputs, payloads and error texts are redacted unless the module permits them and the call asks', async () => {
    const shown = ({ body }: { body: any }) => JSON.stringify(body);
    const texts = [SECRET, 'R-finished', 'declined', 'bank said no', 'mcp.read.test'];
    for (const [client, asks] of [[agent, true], [agent, false], [open, false]] as const) {
      for (const run of [runs.finished, runs.declined]) {
        const answer = await client.call('workflow', { workflow_id: run.id, include_payloads: asks });
        for (const text of texts) expect(shown(answer)).not.toContain(text);
        expect(answer.body).toMatchObject({ payloads_shown: false, args: '[redacted]' });
      }
      const groups = await client.call('workflows_attention', { include_payloads: asks });
      for (const text of texts) expect(shown(groups)).not.toContain(text);
      expect(groups.body.groups[0]).toMatchObject({ error_class: 'TypeError', error_message: '[redacted]' });
      expect(shown(await client.call('workflows', { status: 'all' }))).not.toContain(SECRET);
    } // prettier-ignore
    const declined = await agent.call('workflow', { workflow_id: runs.declined.id });
    expect(declined.body.attempts[0]).toMatchObject({
      output: null,
      error: {
        class: 'TypeError',
        message: '[redacted]',
        backtrace: '[redacted]',
        causes: [{ class: 'Error', message: '[redacted]' }],
      },
    });
    const finished = await agent.call('workflow', { workflow_id: runs.finished.id });
    expect(finished.body.signals).toMatchObject([{ name: 'shipped', payload: '[redacted]' }]);
    expect(finished.body.attempts.at(-1)).toMatchObject({ step: 'charge', output: '[redacted]', error: null });

    const all = (id: string) => open.call('workflow', { workflow_id: id, include_payloads: true });
    expect((await all(runs.declined.id)).body).toMatchObject({
      payloads_shown: true,
      args: { card: SECRET },
      attempts: [{ error: { message: `declined: ${SECRET}`, causes: [{ message: `bank said no to ${SECRET}` }] } }],
    });
    expect((await all(runs.finished.id)).body).toMatchObject({
      signals: [{ payload: { note: SECRET } }],
      attempts: [{}, {}, { output: { receipt: 'R-finished' } }],
    });
    const groups = await open.call('workflows_attention', { include_payloads: true });
    expect(groups.body.groups[0].error_message).toBe(`declined: ${SECRET}`);
  });

  test("MCP-15 a group's fields, used as filters, list exactly its runs", async () => {
    const { groups } = (await agent.call('workflows_attention')).body;
    expect(groups.map((group: any) => [group.workflow_class, group.stuck_reason, group.runs])).toEqual([
      ['Shop:Order/v1.2', 'paused_error', 2],
      ['Shop:Order/v1.2', 'paused_manual', 1],
      ['Reminder', 'paused_manual', 1],
    ]);
    const expected = [[runs.declined, runs.declinedToo], [runs.onPurpose], [runs.paused]];
    for (const [place, { status, workflow_class, step, error_class, stuck_reason }] of groups.entries()) {
      const { body } = await agent.call('workflows', { status, workflow_class, step, error_class, stuck_reason });
      expect(body.runs.map(({ id }: any) => id).toSorted()).toEqual(expected[place].map(({ id }) => id).toSorted());
      if (error_class === null) continue;
      expect((await agent.call('workflows', { status, workflow_class, step, error_class })).body.runs).toHaveLength(
        expected[place].length,
      );
    }
  });

  test('MCP-08 wrong arguments are named, in words that a model can act on; nothing is changed', async () => {
    const before = await allRows(suite.sql);
    const wrong: [string, Record<string, unknown>, RegExp][] = [
      ['workflows', { status: 'stuck' }, /^status must be one of: ongoing, all, ready/],
      ['workflows', { class: 'Parcel' }, /^There is no argument "class"; there are: status, workflow_class/],
      ['workflows', { limit: 101 }, /^limit must be a whole number from 1 to 100/],
      ['workflows', { limit: 1.5 }, /^limit must be a whole number/],
      ['workflows', { workflow_class: 7 }, /^workflow_class must be a text/],
      ['workflows', { cursor: 'nonsense' }, /^"cursor" is none that this list gave/],
      ['workflow', { workflow_id: runs.ready.id, events_cursor: 'nonsense' }, /^"events_cursor" is none that this run gave/],
      ['workflows', { created_from: 'yesterday' }, /^created_from must be a moment/],
      ['workflow', {}, /^workflow_id must be the id of a run/],
      ['workflow', { workflow_id: 'x' }, /^workflow_id must be the id of a run/],
      ['workflow', { workflow_id: runs.ready.id, include_payloads: 'yes' }, /^include_payloads must be true or false/],
      ['workflow', { workflow_id: '01890000-0000-7000-8000-000000000000' }, /^There is no workflow /],
      ['workflow_stats', { workflow_class: 'NoSuch' }, /^There is no workflow class "NoSuch".*Loaded: /],
      ['workflow_stats', { window: '2h' }, /^window must be one of: 1h, 24h, 7d, 30d/],
    ]; // prettier-ignore
    for (const [tool, given, message] of wrong) {
      const { isError, body, text } = await agent.call(tool, given);
      expect([isError, body, text]).toEqual([true, undefined, expect.stringMatching(message)]);
    }
    // What models fill in without meaning it is nothing.
    const blank = { workflow_class: '', step: ' ', error_class: null, subject_id: null, limit: 100 };
    expect((await agent.call('workflows', blank)).body.runs).toHaveLength(7);
    expect(await allRows(suite.sql)).toEqual(before);
  });

  test('payloads of one answer are bounded; what is over that is said', async () => {
    const large = await app.workflows.start(Parcel, { args: { order: 'large', more: 'x'.repeat(101_000) } });
    const { body } = await open.call('workflow', { workflow_id: large.id, include_payloads: true });
    expect(body.args).toMatch(/^\[\d+ bytes left out/);
    await large.cancel();
  });
});
