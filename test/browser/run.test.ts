import type { Page } from 'playwright-core';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { dashboardPages } from '../support/dashboard-page';
import { fanning, fanScript, Task } from '../support/fan';
import { Parcel, Reminder } from '../support/parcels';
import { workflowSuite } from '../support/suite';
import { brokenWords } from './shown';

const Fans = fanning('Fans', {}, true);

describeInBrowser("a run's page", (browsing) => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  const dashboard = dashboardPages(suite, browsing, { providers: [Parcel, Reminder, Fans, Task] });
  const start = (args: object = {}) => dashboard.app.workflows.start(Parcel, { args: { order: 'o1', ...args } });

  const attempts = (page: Page) => page.getByRole('table', { name: 'Attempts, newest first' });
  const timeline = (page: Page) => page.getByRole('group', { name: 'Timeline', exact: true });
  const trail = (page: Page) => page.getByRole('region', { name: 'Audit trail' }).getByRole('listitem');

  test('DASH-05 DASH-02 header, attempts with durations, worker and revision, errors with causes and backtrace, arguments, output, signals', async () => {
    const run = await start({ failures: 2, more: { codes: [1, 2, 3], note: 'n'.repeat(900), none: null } });
    await until(run, 'paused');
    await run.resume({ actor: 'bob', reason: 'it is up again' });
    await until(run, 'waiting');
    await run.signal('note', { text: 'by the back door' }, { idempotencyKey: 'n1' });
    const page = await dashboard.open(`/runs/${run.id}`);
    await page.getByText(/^Waiting for signal "shipped" at step "ship" since /).waitFor();
    await page.getByText('With the signal step "ship" runs, then step "deliver".').waitFor();

    // Times are told relatively; exactly, with their zone, on hover and to whoever hears the page.
    const created = page.locator('dt', { hasText: 'Created' }).locator('..').locator('time');
    expect(await created.getAttribute('aria-label')).toMatch(/ ago, \d+ \w+ \d{4}.* CES?T$/);
    await created.focus();
    await page
      .getByRole('tooltip')
      .filter({ hasText: /CES?T$/ })
      .waitFor();

    const header = await attempts(page).locator('thead').textContent();
    expect(header).toBe('Step, attemptOutcomeStartedHow longWorkerRevision');
    const lines = await attempts(page).locator('tr[data-row]').allTextContents();
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^ship, 1waiting for signal "shipped"–waited /);
    const worker = (await sql(`select worker from workflow_steps where workflow_id = $1 limit 1`, [run.id]))[0].worker;
    expect(lines[1]).toMatch(/^charge, 3completed.*queued .*, ran .*rev-42$/);
    expect(lines[1]).toContain(worker);
    expect(lines[2]).toMatch(/^charge, 2paused the run/);
    expect(lines[3]).toMatch(/^charge, 1failed, tried again/);
    expect(await attempts(page).getByText('GatewayTimeout: The gateway does not answer').count()).toBe(2);
    expect(await attempts(page).getByText('caused by TypeError: socket closed').count()).toBe(2);
    await attempts(page).getByRole('button', { name: 'Backtrace' }).first().click();
    await attempts(page).getByRole('region', { name: 'Backtrace' }).getByText('parcels.ts').waitFor();
    await attempts(page).getByRole('button', { name: 'Output' }).click();
    await page.getByRole('group', { name: 'Output of step charge, attempt 3' }).getByText('"R-o1"').waitFor();

    const args = page.getByRole('group', { name: 'Arguments' });
    await args.getByText('more: { 3 fields }').waitFor();
    await args.getByRole('button', { name: 'codes: [ 3 entries ]' }).click();
    await args.getByText('2: 3').waitFor();
    await args.getByRole('button', { name: 'Show all 902 characters' }).click();
    await args.getByText(`"${'n'.repeat(900)}"`).waitFor();

    const signals = page.getByRole('table', { name: 'Signals, newest first' });
    expect(await signals.locator('tr[data-row]').allTextContents()).toEqual([
      expect.stringMatching(/^notepending.*–n1$/),
    ]);
    await signals.getByRole('button', { name: 'Payload' }).click();
    await signals.getByText('"by the back door"').waitFor();
    await expectAccessible(page);
    await run.cancel();
  });

  test('DASH-05 the audit trail in order, with actor and reason; it is read on while the page is open, page by page', async () => {
    const run = await start();
    await until(run, 'waiting');
    const page = await dashboard.open(`/runs/${run.id}`);
    await trail(page).filter({ hasText: 'waits for signal "shipped"' }).waitFor();
    await run.pause({ actor: 'dashboard:alice', reason: 'the carrier is on strike' });
    await trail(page).filter({ hasText: 'Paused by dashboard:alice: the carrier is on strike' }).waitFor();
    const texts = (await trail(page).locator('> :last-child').allTextContents()).map((text) => text.trim());
    expect(texts).toEqual([
      'Started by app',
      'Step "charge", attempt 1, scheduled by app',
      'Step "charge", attempt 1, started',
      'Step "charge", attempt 1, completed',
      'Step "ship", attempt 1, scheduled',
      'Step "ship", attempt 1, waits for signal "shipped"',
      'Paused by dashboard:alice: the carrier is on strike',
    ]);
    // Its lines are read by their order: they tell the clock, and how long ago on focus.
    const moment = trail(page).last().locator('time');
    expect(await moment.textContent()).toMatch(/^\d+ \w+, \d\d:\d\d:\d\d$/);
    await moment.focus();
    await page
      .getByRole('tooltip')
      .filter({ hasText: /CES?T, \d+ sec.* ago$/ })
      .waitFor();
    await page.getByText(/^Paused since .* while step "ship", attempt 1, waits for signal "shipped"/).waitFor();

    await sql(
      `insert into workflow_events (workflow_id, name, actor, reason)
       select $1, 'signal_received', 'app', 'delivery ' || n from generate_series(1, 400) n`,
      [run.id],
    );
    await page.reload();
    await suite.eventually(async () => (await trail(page).count()) === 200, 'the first page of the trail is there');
    await page.getByRole('button', { name: 'Load more' }).click();
    await suite.eventually(async () => (await trail(page).count()) === 400, 'the second page of the trail is there');
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/events')) asked.push(new URL(request.url()).searchParams.get('cursor') ?? '');
    });
    await page.getByRole('button', { name: 'Load more' }).click();
    await trail(page).filter({ hasText: 'delivery 400' }).waitFor();
    await run.resume({ actor: 'bob' });
    await trail(page).filter({ hasText: 'Resumed by bob' }).waitFor();
    // What is full is not read again.
    expect(new Set(asked).size).toBe(1);
    await run.cancel();
  });

  test('DASH-06 the timeline: a bar an attempt of waited, queued and ran, coloured by outcome; pauses by themselves; zoomed by keys, buttons and dragging', async () => {
    const run = await start({ failures: 2 });
    await until(run, 'paused');
    // Two attempts over two days: waited 10 h, queued 2 h, ran 4 h each, a day apart; paused for the last 8 hours.
    await sql(
      `update workflow_steps set created_at = t, scheduled_at = t + interval '10 hours', started_at = t + interval '12 hours',
              finished_at = t + interval '16 hours'
       from (select id, statement_timestamp() - (case attempt when 1 then 48 else 24 end) * interval '1 hour' as t
             from workflow_steps where workflow_id = $1) a where a.id = workflow_steps.id`,
      [run.id],
    );
    await sql(`update workflows set created_at = created_at - interval '48 hours' where id = $1`, [run.id]);
    await sql(
      `update workflow_events set created_at = created_at - interval '8 hours' where workflow_id = $1 and name = 'paused'`,
      [run.id],
    );
    const page = await dashboard.open(`/runs/${run.id}`);
    await page.getByRole('img', { name: /^2 attempts from .* to now, with 1 pause\./ }).waitFor();
    const boxes = async (part: string) => {
      const all = await timeline(page).locator(`[data-part="${part}"]`).all();
      return Promise.all(all.map(async (one) => (await one.boundingBox())!));
    };
    const [waited, queued, ran, paused] = await Promise.all(['waited', 'queued', 'ran', 'paused'].map(boxes));
    expect([waited, queued, ran, paused].map((all) => all.length)).toEqual([2, 2, 2, 1]);
    const hour = waited[0].width / 10;
    expect(queued[0].width / hour).toBeCloseTo(2, 1);
    expect(ran[1].width / hour).toBeCloseTo(4, 1);
    expect(paused[0].width / hour).toBeCloseTo(8, 1);
    expect((ran[1].x - ran[0].x) / hour).toBeCloseTo(24, 1);
    expect(ran[0].x).toBeCloseTo(queued[0].x + queued[0].width, 0);
    const colors = await timeline(page)
      .locator('[data-part="ran"]')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
    expect(new Set(colors).size).toBe(2);
    const legend = page.getByRole('list', { name: 'What the colours mean' });
    expect(await legend.getByRole('listitem').allTextContents()).toEqual([
      ' waited for its time or its signal',
      ' queued: due and not taken',
      ' ran: failed, tried again',
      ' ran: paused the run',
      ' the run was paused',
      '┆ now',
    ]);
    expect(await timeline(page).locator('.timeline-now').count()).toBeGreaterThan(0);

    /** By how much the second attempt's wait, which is in the middle, is wider than in the whole view. */
    const middle = timeline(page).locator('.timeline-line', { hasText: 'charge · 2' }).locator('[data-part="waited"]');
    const scale = async () => (await middle.boundingBox())!.width / hour / 10;
    const placeOfIt = async () => (await middle.boundingBox())!.x;
    await timeline(page).focus();
    for (let n = 0; n < 2; n += 1) await page.keyboard.press('+');
    expect((await scale()) / 1.5 ** 2).toBeCloseTo(1, 1);
    const before = await placeOfIt();
    await page.keyboard.press('ArrowLeft');
    const after = await placeOfIt();
    expect(after).toBeGreaterThan(before);
    const box = (await timeline(page).boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 - 60, box.y + 40, { steps: 4 });
    await page.mouse.up();
    expect(await placeOfIt()).toBeCloseTo(after - 60, -1);
    await page.keyboard.press('0');
    expect(await scale()).toBeCloseTo(1, 1);

    await page.getByRole('button', { name: 'Zoom in' }).click();
    expect((await scale()) / 2).toBeCloseTo(1, 1);
    await page.getByRole('button', { name: 'Whole run' }).click();
    expect(await scale()).toBeCloseTo(1, 1);
    await page.keyboard.down('Control');
    await page.mouse.move(box.x + box.width / 2, box.y + 40);
    await page.mouse.wheel(0, -100);
    await page.keyboard.up('Control');
    await suite.eventually(async () => (await scale()) > 1.4, 'the wheel has zoomed in');
    await run.cancel();
  });

  test('DASH-07 REN-07 an older list of steps is marked, a class that is not loaded too; a rerun and its origin lead to each other', async () => {
    const first = await start();
    await first.cancel();
    const again = await first.rerun();
    await until(again, 'waiting');
    await sql(`update workflows set definition_digest = 'older' where id = $1`, [again.id]);
    const page = await dashboard.open(`/runs/${again.id}`);
    await page.getByText('The run began on an older list of steps').waitFor();
    await page.getByText('goes on with the steps that the class has now: charge, ship, deliver.').waitFor();
    await page.getByRole('link', { name: first.id }).click();
    await page.getByText('Run again as', { exact: true }).waitFor();
    await page.getByRole('link', { name: again.id }).click();
    await page.getByText('Rerun of', { exact: true }).waitFor();
    await again.cancel();

    await sql(`update workflows set workflow_class = 'Vanished' where id = $1`, [first.id]);
    const vanished = await dashboard.open(`/runs/${first.id}`);
    await vanished.getByText('The class is not loaded in this process').waitFor();
    expect(await vanished.getByText('The run began on an older list of steps').count()).toBe(0);
  });

  test('FAN-03 DASH-05 a fan-out with its progress', async () => {
    const task = (n: number) => (n === 1 ? Promise.reject(new Error('no')) : undefined);
    const run = await dashboard.app.workflows.start(Fans, fanScript({ size: 40, task }));
    await until(run, 'paused');
    const page = await dashboard.open(`/runs/${run.id}`);
    await attempts(page).getByText(`Batch Fans#fan ${run.id}`).waitFor();
    await attempts(page).getByText('39 of 40 jobs completed, 1 failed').waitFor();
    const value = (name: string) => attempts(page).getByRole('progressbar', { name }).getAttribute('aria-valuenow');
    expect([await value('Completed'), await value('Failed')]).toEqual(['97.5', '2.5']);
    await run.cancel();
  });

  test('DASH-20 a run that is not there is said to be not there', async () => {
    browsing.expectProblem(/404/);
    const page = await dashboard.open('/runs/0198f2a4-6c1e-7b3a-9d52-1f0c8e6a7b41');
    await page.getByRole('heading', { name: 'There is no run 0198f2a4-6c1e-7b3a-9d52-1f0c8e6a7b41' }).waitFor();
    expect(await page.getByRole('group', { name: 'Actions' }).count()).toBe(0);
  });

  test.each([
    ['dark', 1280],
    ['light', 360],
  ] as const)('DASH-05 in %s colours, %i pixels wide, it meets WCAG AA and fits', async (colorScheme, width) => {
    const run = await start({ failures: 2, more: { long: 'x'.repeat(300) } });
    await until(run, 'paused');
    const page = await dashboard.open(`/runs/${run.id}`, { colorScheme, viewport: { width, height: 800 } });
    await trail(page).filter({ hasText: 'Paused' }).waitFor();
    await attempts(page).getByRole('button', { name: 'Backtrace' }).first().click();
    expect(await brokenWords(page)).toEqual([]);
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await run.cancel();
  });
});
