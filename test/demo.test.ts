import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { ensureBuilt } from './support/built';
import { withClient } from './support/database-names';
import { brokenInvariants } from './support/invariants.mjs';
import { connectTo } from './support/mcp';

/** The demo as a process of its own, on the test run's server. */
class Demo {
  /** Its exit code, once all that it said has been read. */
  readonly ended: Promise<number | null>;
  private readonly child: ChildProcess;
  private text = '';

  constructor(...options: string[]) {
    const script = path.join(__dirname, '../scripts/demo.mjs');
    this.child = spawn(process.execPath, [script, '--no-build', ...options], {
      env: {
        ...process.env,
        DATABASE_URL: process.env.WORKFLOWS_TEST_DATABASE_URL,
        DEMO_ADMIN_TOKEN: 'olga-knows',
        DEMO_MCP_TOKEN: 'what-agents-send',
        NO_COLOR: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (this.text += chunk));
    }
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
  }

  get output(): string {
    return this.text;
  }

  /** Waits for words; null when the process ends without them. */
  async says(words: RegExp): Promise<RegExpExecArray | null> {
    const over = this.ended.then(() => 'over' as const);
    while (!words.test(this.text)) {
      if ((await Promise.race([once(this.child.stdout!, 'data'), over])) === 'over') break;
    }
    return words.exec(this.text);
  }

  interrupt(): void {
    this.child.kill('SIGINT');
  }

  kill(): void {
    if (this.child.exitCode === null) this.child.kill('SIGTERM');
  }
}

async function demoDatabases(): Promise<string[]> {
  const { rows } = await withClient(process.env.WORKFLOWS_TEST_DATABASE_URL!, (client) =>
    client.query<{ datname: string }>("select datname from pg_database where datname like 'workflows_demo_%'"),
  );
  return rows.map(({ datname }) => datname);
}

/** Asks until there is an answer. */
async function settled<Answer>(ask: () => Promise<Answer | null>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    await pause(100);
  }
}

describe('the demo', () => {
  let played: Demo;
  let staying: Demo;

  // Both at once: most of their time is waiting.
  beforeAll(() => {
    ensureBuilt();
    played = new Demo('--once');
    staying = new Demo();
  }, 120_000);

  afterAll(async () => {
    for (const demo of [played, staying]) demo?.kill();
    await Promise.all([played?.ended, staying?.ended]);
  });

  test('run once, it tells what happens, finds all as expected and exits 0', async () => {
    const code = await played.ended;

    expect(played.output).not.toMatch(/✗/);
    const logged = played.output.match(/^.*(ERROR|WARN).*$/gm);
    expect(logged).toEqual([
      expect.stringMatching(/job NotifyVendor .* is dead-lettered after 3 attempts: MailboxGone/),
    ]);
    for (const line of [
      /order 1 +FINISHED/,
      /order 2 +capture FAILED, CardDeclined: .*\n(.*\n)*.*order 2 +CANCELLED by a policy/,
      /order 3 +capture FAILED, GatewayTimeout: .*tried again in 0\.5 s\n(.*\n)*.*order 3 +capture done \(attempt 2\)/,
      /order 4 +ship FAILED, RouteClosed: .*\n(.*\n)*.*order 4 +PAUSED/,
      /order 4 +RESUMED by operator:olga: the storm is over/,
      /order 5 +CANCELLED before askForReview, by a guard/,
      /order 6 +askForReview skipped/,
      /order 1 +capture WAITS for payment_confirmed\n(.*\n)*.*order 1 +WAKES: capture takes payment_confirmed/,
      /bank +confirms the payment of order 6: "kept until the order asks"/,
      /order 6 +capture takes payment_confirmed, which came before/,
      /bank +sends once more the payment of order 3: "delivered before"/,
      /order 3 +notifyVendors FANS OUT into 3 jobs/,
      /order 3 +notifyVendors FAILED, FanOutFailedError: 1 of 3 jobs dead-lettered/,
      /olga +FanOutFailedError: 1 of 3 jobs dead-lettered\n(.*\n)*.*olga +after 3 tries, MailboxGone/,
      /order 3 +RESUMED by operator:olga: told the vendor/,
      /NotifyVendor +tinker +failed +3 +MailboxGone/,
      /order 7 +DEADLINE of capture has passed without payment_confirmed: pause/,
      /olga +WaitTimedOutError: .*"payment_confirmed" did not come/,
      /order 7 +CANCELLED by operator:olga/,
      /github +1 time "review started"/,
      /pr \d+ +DEADLINE of review .*notify\b.*\n(.*\n)*.*pr \d+ +WAKES: review takes pull_request_review/,
      /pr \d+ +WAKES: thankAuthor takes pull_request\.closed/,
      /github +delivers the webhook once more .*"delivered before"/,
      /fan_out_finished +notifyVendors #1 +system +1 of 3 jobs failed/,
      /✓ no idempotency key was charged twice/,
    ]) {
      expect(played.output).toMatch(line);
    }
    expect(code).toBe(0);
  }, 120_000);

  test('without --once it stays up, answers at its URLs, and ends cleanly on Ctrl-C', async () => {
    // First of all, before anything is played.
    await staying.says(/What happens/);
    const before = staying.output.slice(0, staying.output.indexOf('What happens'));
    expect(before).toMatch(/The dashboard: http:\S+\/admin\/workflows\/ \(any name; password olga-knows\)/);
    expect(Number(/It opens on (\d+) runs/.exec(before)?.[1])).toBeGreaterThan(300);
    const [, url] = (await staying.says(/stays up until Ctrl-C: (http:\S+)\/workflows/)) ?? [];
    expect(url).toBeDefined();

    const read = async (where: string) => (await fetch(`${url}${where}`)).json();
    const newest = await read('/workflows');
    expect(newest).toHaveLength(100);
    expect(await read('/orders/4/workflow')).toMatchObject({ status: 'finished', workflow: 'OrderWorkflow' });
    expect((await fetch(`${url}/orders/99/workflow`)).status).toBe(404);
    const paymentOf = (orderId: number) => ({
      method: 'POST',
      body: JSON.stringify({ event: 'evt-new', orderId, amount: 100 }),
      headers: { 'content-type': 'application/json' },
    });
    expect((await fetch(`${url}/webhooks/payments`, paymentOf(99))).status).toBe(404);
    expect((await fetch(`${url}/webhooks/payments`, paymentOf(-1))).status).toBe(400);
    const late = await fetch(`${url}/webhooks/payments`, paymentOf(1));
    expect([late.status, await late.json()]).toMatchObject([202, { outcome: 'too late' }]);

    const nameless = { method: 'POST', body: '{"action":"opened"}', headers: { 'content-type': 'application/json' } };
    const incomplete = {
      ...nameless,
      headers: { ...nameless.headers, 'x-github-event': 'pull_request', 'x-github-delivery': 'one' },
    };
    expect((await fetch(`${url}/webhooks/github`, nameless)).status).toBe(400);
    expect((await fetch(`${url}/webhooks/github`, incomplete)).status).toBe(400);
    const ids = (listed: unknown) => (listed as { id: string }[]).map(({ id }) => id);
    expect(ids(await read('/workflows'))).toEqual(ids(newest));

    const operators = (headers: Record<string, string>, where: string, init: RequestInit = {}) =>
      fetch(`${url}/admin/workflows/api/${where}`, {
        ...init,
        headers: { ...headers, 'content-type': 'application/json' },
      });
    const bearer = { authorization: 'Bearer olga-knows', 'x-operator': 'olga' };
    const basic = { authorization: `Basic ${Buffer.from('olga:olga-knows').toString('base64')}` };
    expect((await operators({}, 'runs')).headers.get('www-authenticate')).toMatch(/^Basic /);
    for (const wrong of [{ authorization: '' }, { authorization: 'Bearer olga' }])
      expect((await operators(wrong, 'runs')).status).toBe(401);
    const listed = await operators(basic, 'runs?state=all&class=OrderWorkflow&limit=7');
    const { runs } = (await listed.json()) as { runs: { id: string; subject_url: string }[] };
    expect(runs).toHaveLength(7);
    expect(runs[0].subject_url).toMatch(/^\/orders\/\d\/workflow$/);
    expect(runs.every((run) => /^\/orders\/[1-7]\//.test(run.subject_url))).toBe(true);
    const refused = await operators(bearer, `runs/${runs[0].id}/resume`, { method: 'POST', body: '{}' });
    expect([refused.status, await refused.json()]).toMatchObject([409, { ok: false, code: 'NOT_PAUSED' }]);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
      /workflow_steps_total\{.*workflow_class="OrderWorkflow"/,
    );

    // What the dashboard opens on: a past that the engine could have left.
    const dashboard = (headers: Record<string, string>) => fetch(`${url}/admin/workflows/`, { headers });
    expect((await dashboard({})).status).toBe(401);
    expect(await (await dashboard(basic)).text()).toMatch(/<script type="module"/);
    const summary = await operators(basic, 'summary');
    expect(await summary.json()).toMatchObject({
      by_reason: {
        paused_error: expect.any(Number),
        stalled: 1,
        paused_manual: 2,
        overdue: 0,
        waiting_overdue: expect.any(Number),
      },
    });
    expect(((await (await operators(basic, 'attention')).json()) as { groups: object[] }).groups).toHaveLength(7);
    // What an agent is connected with, and sees of the same.
    const [, mcp, sent] = (await staying.says(/claude mcp add --transport http workflows (\S+) --header "Authorization: Bearer (\S+)"/)) ?? []; // prettier-ignore
    expect([mcp, sent]).toEqual([`${url}/mcp`, 'what-agents-send']);
    const agent = await connectTo(mcp, { token: sent });
    expect((await agent.call('workflows_attention')).body.groups).toHaveLength(7);
    expect((await agent.client.listTools()).tools).toHaveLength(11);
    await agent.close();
    // They are runs like any other: their orders are there, and they go on.
    const stormbound = 'runs?class=OrderWorkflow&state=paused&error_class=RouteClosed&limit=1';
    const [{ id }] = ((await (await operators(basic, stormbound)).json()) as { runs: { id: string }[] }).runs;
    expect((await operators(bearer, `runs/${id}/resume`, { method: 'POST', body: '{}' })).status).toBe(200);
    const ended = async () => {
      const run = (await (await operators(basic, `runs/${id}`)).json()) as { status: string; ended_at: string | null };
      return run.ended_at === null ? null : run.status;
    };
    expect(await settled(ended)).toBe('finished');

    expect(await played.ended).toBe(0);
    const [database] = await demoDatabases();
    const left = new URL(process.env.WORKFLOWS_TEST_DATABASE_URL!);
    left.pathname = `/${database}`;
    const rowsOf = (client: Client) => ({ query: async (sql: string) => (await client.query(sql)).rows });
    expect(await withClient(left.href, (client) => brokenInvariants(rowsOf(client)))).toEqual([]);

    expect(staying.output).not.toMatch(/✗/);

    staying.interrupt();
    expect(await staying.ended).toBe(0);
  }, 120_000);

  test('it leaves no database behind', async () => {
    await Promise.all([played.ended, staying.ended]);
    expect(await demoDatabases()).toEqual([]);
  }, 120_000);
});
