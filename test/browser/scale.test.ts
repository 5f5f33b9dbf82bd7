import type { Page } from 'playwright-core';
import { describeInBrowser } from '../support/browser';
import { dashboardPages } from '../support/dashboard-page';
import { workflowSuite } from '../support/suite';

const ATTEMPTS = 500;
const MEMBERS = 10_000;

/** A run that was tried every two minutes, and is paused on its last failure. */
const TRIED = `
with run as (
  insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest, created_at, paused_at)
  values (gen_random_uuid(), 'Poller', '{}', 'paused', 'poll', '', statement_timestamp() - $1::int * interval '2 minutes', statement_timestamp())
  returning id, created_at
), attempts as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, outcome, queue, created_at, scheduled_at, available_at, started_at, finished_at,
                              claim_no, worker_id, error_class, error_message)
  select id, 'Poller', 'poll', n, 'failed', case when n < $1 then 'reattempted' else 'paused' end, 'default', at, at, at, at + interval '1 s',
         at + interval '1 minute', 1, gen_random_uuid(), 'GatewayTimeout', 'no answer to attempt ' || n
  from run, generate_series(1, $1::int) n, lateral (select created_at + (n - 1) * interval '2 minutes' as at) a
  returning id, workflow_id, attempt, started_at
), trail as (
  insert into workflow_events (workflow_id, step_id, name, actor, created_at)
  select id, null, 'started', 'app', created_at from run
  union all
  (select workflow_id, attempts.id, name, 'system', started_at from attempts,
          unnest(array['step_scheduled', 'step_started', case when attempt < $1 then 'step_reattempted' else 'step_failed' end]) with ordinality as e(name, place)
   order by attempt, place)
  union all
  select id, null, 'paused', 'system', statement_timestamp() from run
)
select id from run`;

/** A run that waits for its batch: of four members one is to do, and of a hundred one has failed. */
const FANNED = `
with run as (
  insert into workflows (id, workflow_class, arguments, status, current_step, definition_digest)
  values (gen_random_uuid(), 'Mailing', '{}', 'waiting', 'send', '') returning id
), parent as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, waiting_since, batch_size)
  select id, 'Mailing', 'send', 1, 'waiting', 'default', now(), now(), $1::int from run returning id, workflow_id
), members as (
  insert into workflow_steps (workflow_id, handler, step_name, attempt, member_index, parent_step_id, status, queue, scheduled_at, available_at, finished_at, claim_no,
                              job_name, job_args)
  select workflow_id, 'Mail', 'send', 1, n, id, case when n % 4 = 0 then 'scheduled' when n % 100 = 1 then 'failed' else 'completed' end, 'mail', now(), now(),
         case when n % 4 <> 0 then now() end, 1, 'Mail', '{}'
  from parent, generate_series(0, $1::int - 1) n
), trail as (
  insert into workflow_events (workflow_id, name, actor) select id, name, 'system' from run, unnest(array['started', 'step_scheduled', 'step_started', 'step_waiting']) name
)
select id from run`;

// How long it takes is told by npm run bench:dashboard.
describeInBrowser('a run that is large', (browsing) => {
  const suite = workflowSuite();
  const { sql, eventually } = suite;
  const dashboard = dashboardPages(suite, browsing, { workflow: { worker: false, metrics: false } });
  const attempts = (page: Page) => page.getByRole('table', { name: 'Attempts, newest first' }).locator('tr[data-row]');
  const trail = (page: Page) => page.getByRole('region', { name: 'Audit trail' }).getByRole('listitem');
  const timeline = (page: Page) => page.getByRole('group', { name: 'Timeline', exact: true });

  afterEach(() => sql('truncate workflows, workflow_steps, workflow_events, workflow_signals'));

  test('DASH-05 DASH-06 of five hundred attempts the newest hundred are there, and it says so; the audit trail has them all, page by page', async () => {
    const [{ id }] = await sql<{ id: string }>(TRIED, [ATTEMPTS]);
    const page = await dashboard.open(`/runs/${id}`);
    await page.getByText('The newest 100 of 500. The audit trail tells of all.').waitFor();
    await eventually(async () => (await attempts(page).count()) === 100, 'the newest hundred are there');
    expect(await attempts(page).first().textContent()).toMatch(/^poll, 500paused the run/);
    expect(await attempts(page).last().textContent()).toMatch(/^poll, 401failed, tried again/);

    await page.getByRole('img', { name: /^the newest 100 of 500 attempts/ }).waitFor();
    expect(await timeline(page).locator('[data-part="ran"]').count()).toBe(100);
    // The newest are in view.
    await timeline(page).getByText('poll · 500').waitFor();
    const isAtEnd = await timeline(page).evaluate((box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 1);
    expect(isAtEnd).toBe(true);

    // Three lines an attempt, and two of the run.
    const all = 3 * ATTEMPTS + 2;
    for (let shown = 200; ; shown = Math.min(all, shown + 200)) {
      await eventually(async () => (await trail(page).count()) === shown, `${shown} lines of the trail are there`);
      if (shown === all) break;
      await page.getByRole('button', { name: 'Load more' }).click();
    }
    const lines = await trail(page).allTextContents();
    const started = lines.flatMap((line) => /Step "poll", attempt (\d+), started/.exec(line)?.[1] ?? []);
    expect(started).toEqual(Array.from({ length: ATTEMPTS }, (_, place) => `${place + 1}`));
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0);
  });

  test('FAN-03 DASH-02 a fan-out of ten thousand is one line that counts them, in the list and on its page', async () => {
    const [{ id }] = await sql<{ id: string }>(FANNED, [MEMBERS]);
    const page = await dashboard.open('/runs');
    await page.getByRole('link', { name: /7,?500 of 10,?000/ }).click();
    await page.getByText('7,400 of 10,000 jobs completed, 100 failed, 2,500 to go').waitFor();
    await page.getByText(`Batch Mailing#send ${id}`).first().waitFor();
    expect(await attempts(page).count()).toBe(1);
    expect(await timeline(page).locator('.timeline-line').count()).toBe(2);
    expect(await page.locator('body *').count()).toBeLessThan(1_000);
  });
});
