import type { Page } from 'playwright-core';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { dashboardPages, searchOf } from '../support/dashboard-page';
import { Parcel, Reminder } from '../support/parcels';
import { held, script, Scripted } from '../support/scripted';
import { workflowSuite } from '../support/suite';
import { oneDeadline, passDeadline, waiting as waitingAt } from '../support/waits';

const OneNotice = waitingAt({ waitTimeout: oneDeadline(), onTimeout: 'notify' });
import { brokenWords } from './shown';

describeInBrowser('the list of runs', (browsing) => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  const dashboard = dashboardPages(suite, browsing, {
    providers: [Parcel, Reminder, Scripted, OneNotice],
    admin: { subjectUrl: (type, id) => (type === 'Script' ? 'javascript:alert(1)' : `/orders/${id}`) },
  });
  const start = (failures = 0) => dashboard.app.workflows.start(Parcel, { args: { order: 'o', failures } });

  afterEach(async () => {
    for (const table of ['workflow_events', 'workflow_signals', 'workflow_steps', 'workflows']) {
      await sql(`delete from ${table}`);
    }
  });

  const rows = (page: Page) => page.getByRole('table', { name: 'Runs, newest first' }).locator('tbody tr');
  /** The ids of the runs that are listed, in order. */
  const ids = async (page: Page) => rows(page).evaluateAll((all) => all.map((row) => row.getAttribute('data-row')!));
  const listed = (page: Page, expected: readonly string[]) =>
    suite.eventually(
      async () => JSON.stringify(await ids(page)) === JSON.stringify(expected),
      `these runs are listed: ${expected.join(', ')}`,
    );
  /** Types into a field of the filter, and leaves it. */
  const filterBy = async (page: Page, label: string, value: string) => {
    const field = page.getByLabel(label, { exact: true });
    await field.fill(value);
    await field.press('Enter');
  };

  test('DASH-01 DASH-02 ongoing runs, newest first, each in words; ended ones and all when asked for', async () => {
    const waiting = await start();
    await until(waiting, 'waiting');
    const paused = await start(2);
    await until(paused, 'paused');
    const cancelled = await dashboard.app.workflows.start(Reminder, { args: { order: 'r' } });
    await cancelled.cancel();
    const scheduled = await dashboard.app.workflows.start(Reminder, { args: { order: 'r' } });
    const page = await dashboard.open('/runs');
    await listed(page, [scheduled.id, paused.id, waiting.id]);
    const texts = await rows(page).allTextContents();
    expect(texts[0]).toMatch(/^readyScheduled: step "remind", attempt 1, at .*Then the run is finished\..*Reminder/);
    expect(texts[1]).toMatch(/^pausedby an errorPaused since .* at step "charge", attempt 2: GatewayTimeout\./);
    expect(texts[2]).toMatch(/^waitingWaiting for signal "shipped" at step "ship" since /);
    expect(texts[2]).toContain('With the signal step "ship" runs, then step "deliver".');

    await page.getByLabel('State').selectOption('cancelled');
    await listed(page, [cancelled.id]);
    await page.getByLabel('State').selectOption('all');
    await listed(page, [scheduled.id, cancelled.id, paused.id, waiting.id]);
    await page.getByRole('link', { name: /^Paused since/ }).click();
    await page.getByRole('heading', { name: 'Parcel', level: 1 }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/runs/${paused.id}`);
  });

  test('DASH-02 DASH-03 what is at work, has ended, or waits past a deadline that was announced, in words', async () => {
    const { workflows } = dashboard.app;
    const atWork = held();
    const performing = await workflows.start(Scripted, script({ two: atWork.body }));
    await atWork.reached;
    const [finished, cancelled] = [await workflows.start(Scripted, script({})), await start()];
    await until(finished, 'finished');
    await cancelled.cancel({ actor: 'bob', reason: 'by mistake' });
    const late = await workflows.start(OneNotice);
    await until(late, 'waiting');
    await passDeadline(sql, late, '2 hours 5 minutes');
    await suite.eventually(async () => (await suite.trail(late)).includes('wait_timed_out'), 'it was announced');
    const page = await dashboard.open('/runs?state=all');
    await listed(page, [late.id, cancelled.id, finished.id, performing.id]);
    const texts = await rows(page).allTextContents();
    expect(texts[0]).toMatch(/^waitingWaiting for signal "go" at step "gate" since .*; late by 2h 5m, since .*: that was announced, and will not be again/); // prettier-ignore
    expect(texts[1]).toMatch(/^cancelledCancelled by bob at .*, at step "(charge|ship)".*: by mistake/);
    expect(texts[2]).toMatch(/^finishedFinished at .* after its start, with step "three"/);
    expect(texts[3]).toMatch(/^performingPerforming step "two", attempt 1, since .* on .*Then step "three"\./);
    atWork.release();
    await until(performing, 'finished');
    await late.cancel();
  });

  test('DASH-04 filters combine, live in the address by the names that the API has, survive a reload, and are cleared at once', async () => {
    const plain = await start(2);
    const other = await start(2);
    const waiting = await start();
    const reminder = await dashboard.app.workflows.start(Reminder, { args: { order: 'r' } });
    await Promise.all([until(plain, 'paused'), until(other, 'paused'), until(waiting, 'waiting')]);
    await sql(`update workflows set subject_type = 'Order', subject_id = '7' where id = $1`, [plain.id]);
    const page = await dashboard.open('/runs');
    await listed(page, [reminder.id, waiting.id, other.id, plain.id]);

    const classes = page.getByRole('combobox', { name: 'Class' });
    await classes.click();
    await page.getByRole('option', { name: 'Parcel' }).click();
    await listed(page, [waiting.id, other.id, plain.id]);
    await filterBy(page, 'Step', 'charge');
    await filterBy(page, 'Error class', 'GatewayTimeout');
    await page.getByLabel('Needs attention').selectOption('paused_error');
    await listed(page, [other.id, plain.id]);
    await page.getByRole('button', { name: 'More filters' }).click();
    await filterBy(page, 'Subject type', 'Order');
    await filterBy(page, 'Subject id', '7');
    await listed(page, [plain.id]);
    const given = {
      class: 'Parcel',
      step: 'charge',
      error_class: 'GatewayTimeout',
      stuck_reason: 'paused_error',
      subject_type: 'Order',
      subject_id: '7',
    };
    expect(searchOf(page)).toEqual(given);

    await page.reload();
    await listed(page, [plain.id]);
    expect(searchOf(page)).toEqual(given);
    expect(await page.getByLabel('Subject id').inputValue()).toBe('7');
    await filterBy(page, 'Run id', other.id);
    await page.getByText('No run fits these filters.').waitFor();
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await listed(page, [reminder.id, waiting.id, other.id, plain.id]);
    expect(searchOf(page)).toEqual({});
  });

  test("DASH-04 INS-13 INS-14 ranges are typed in the reader's zone and stand in the address as moments; a link's filter is shown and followed", async () => {
    const old = await start();
    const late = await start();
    await Promise.all([until(old, 'waiting'), until(late, 'waiting')]);
    await sql(`update workflows set created_at = '2026-01-31T14:02:00Z' where id = $1`, [old.id]);
    const page = await dashboard.open('/runs');
    await listed(page, [late.id, old.id]);
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByText('Times are Europe/Berlin.').waitFor();
    await filterBy(page, 'Created before', '2026-01-31T15:02:01');
    await listed(page, [old.id]);
    expect(searchOf(page)).toEqual({ created_to: '2026-01-31T14:02:01.000Z' });
    await filterBy(page, 'Created from', '2026-01-31T15:02:01');
    await page.getByText('No run fits these filters.').waitFor();

    await old.cancel();
    await sql(`update workflows set ended_at = '2026-02-01T00:00:00Z' where id = $1`, [old.id]);
    const link = await dashboard.open(
      '/runs?class=Parcel&state=cancelled&ended_from=2026-02-01T00:00:00.000Z&ended_to=2026-02-01T00:00:00.001Z',
    );
    await listed(link, [old.id]);
    expect(await link.getByLabel('Ended from').inputValue()).toMatch(/^2026-02-01T01:00(:00)?$/);
  });

  test('DASH-20 what the address has wrong is said where it is typed, and nothing is listed', async () => {
    browsing.expectProblem(/400/);
    await until(await start(), 'waiting');
    const page = await dashboard.open('/runs?created_from=yesterday');
    await page.getByRole('alert').getByText('created_from must be a moment').waitFor();
    const field = page.getByLabel('Created from');
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await rows(page).count()).toBe(0);
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await rows(page).first().waitFor();
  });

  test('DASH-04 pages: no run twice, none missed; filters and the place stay through turning pages and a reload', async () => {
    const starts = Array.from({ length: 120 }, (_, n) => ({ args: { order: `${n}` } }));
    await dashboard.app.workflows.startMany(Reminder, starts);
    await until(await start(), 'waiting');
    const expected = (
      await sql<{ id: string }>(
        `select id from workflows where workflow_class = 'Reminder' order by created_at desc, id desc`,
      )
    ).map(({ id }) => id);
    const page = await dashboard.open('/runs?class=Reminder');
    await listed(page, expected.slice(0, 50));
    const turn = (name: string) => page.getByRole('button', { name, exact: true });
    await turn('Older').click();
    await listed(page, expected.slice(50, 100));
    expect(searchOf(page)).toEqual({ class: 'Reminder', cursor: expect.any(String) });
    await page.reload();
    await listed(page, expected.slice(50, 100));
    await turn('Older').click();
    await listed(page, expected.slice(100));
    expect(await turn('Older').isDisabled()).toBe(true);
    await turn('Newer').click();
    await listed(page, expected.slice(50, 100));
    await page.goBack();
    await listed(page, expected.slice(100));
    await turn('Newest').click();
    await listed(page, expected.slice(0, 50));
  });

  test('DASH-01 a live list keeps its place: what is new waits to be shown, what has left stays and says so, the focus does not move', async () => {
    const [one, two] = [await start(), await start()];
    await Promise.all([until(one, 'waiting'), until(two, 'waiting')]);
    const page = await dashboard.open('/runs');
    await listed(page, [two.id, one.id]);
    await rows(page).nth(1).getByRole('link').focus();
    await one.cancel();
    const three = await start();
    await page.getByRole('button', { name: '1 new run: show' }).waitFor();
    expect(await ids(page)).toEqual([two.id, one.id]);
    await rows(page).nth(1).getByText('No longer in this list').waitFor();
    expect(await page.evaluate(() => document.activeElement?.closest('tr')?.dataset.row)).toBe(one.id);
    await page.getByRole('button', { name: '1 new run: show' }).click();
    await listed(page, [three.id, two.id]);

    // Nobody is at the list: it follows by itself.
    await page.getByRole('heading', { name: 'Runs' }).click();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    const four = await start();
    await listed(page, [four.id, three.id, two.id]);
  });

  test('DASH-15 a subject leads to its page where the application gave a link, and is plain text where that is none', async () => {
    const [linked, plain] = [await start(), await start()];
    await Promise.all([until(linked, 'waiting'), until(plain, 'waiting')]);
    await sql(`update workflows set subject_type = 'Order', subject_id = '7' where id = $1`, [linked.id]);
    await sql(`update workflows set subject_type = 'Script', subject_id = '8' where id = $1`, [plain.id]);
    const page = await dashboard.open('/runs');
    const link = page.getByRole('link', { name: 'Order 7' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe('/orders/7');
    expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
    await page.getByRole('cell', { name: 'Script 8' }).waitFor();
    expect(await page.getByRole('link', { name: 'Script 8' }).count()).toBe(0);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('DASH-01 in %s colours, %i pixels wide, it meets WCAG AA and fits', async (colorScheme, width) => {
    await until(await start(2), 'paused');
    await until(await start(), 'waiting');
    await sql(`update workflows set subject_type = 'Order', subject_id = id::text`);
    const page = await dashboard.open('/runs?subject_type=Order', { colorScheme, viewport: { width, height: 800 } });
    await rows(page).first().waitFor();
    expect(await brokenWords(page)).toEqual([]);
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  });
});
