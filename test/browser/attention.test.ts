import type { WorkflowAdminOptions } from 'nestjs-pg-workflows';
import type { Page } from 'playwright-core';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { dashboardPages, searchOf } from '../support/dashboard-page';
import { leavePast, type PastAttempt, type PastRun } from '../support/past-runs';
import { Scripted } from '../support/scripted';
import { workflowSuite } from '../support/suite';
import { follow, shownRows } from './shown';

const HOUR = 3_600_000;
const HOSTILE = `<script>document.body.innerHTML = ''</script>`;

// The engine's own rows: what needs a person, and for how long, is then up to the test.
const paused = (workflow: string, error: string, hoursAgo = 1): PastRun => run(workflow, 'paused', -hoursAgo, error);
const overdue = (workflow: string): PastRun => run(workflow, 'ready', -2);

function run(workflow: string, status: PastRun['status'], hours: number, error?: string): PastRun {
  const at = hours * HOUR;
  const attempt: PastAttempt = error
    ? { step: 'one', due: at, started: at, ended: at, status: 'failed', outcome: 'paused', error }
    : { step: 'one', due: at };
  return { class: workflow, created: at, status, attempts: [attempt] };
}

const times = <T>(count: number, one: () => T): T[] => Array.from({ length: count }, one);

describeInBrowser('what needs attention', (browsing) => {
  const suite = workflowSuite();
  const { sql } = suite;
  const can: WorkflowAdminOptions['can'] = (request, action) => action === 'read' || request.operator !== 'reader';
  const dashboard = dashboardPages(suite, browsing, {
    providers: [Scripted],
    workflow: { worker: false, metrics: false },
    admin: { can },
  });

  afterEach(() => sql('truncate workflows, workflow_steps, workflow_events, workflow_signals'));

  const seed = (...runs: PastRun[]) => leavePast(sql, new Date(), runs);
  const open = async (search = '', options = {}) => {
    const page = await dashboard.open(`/attention${search}`, options);
    await page.getByText(/attention, in/).waitFor();
    return page;
  };
  const groups = (page: Page) => page.getByRole('table', { name: 'Groups of runs that need attention' });
  const row = (page: Page, text: string) => groups(page).getByRole('row').filter({ hasText: text });
  const dialog = (page: Page) => page.getByRole('dialog');
  const statuses = async () => {
    const rows = await sql('select status, count(*)::int as runs from workflows group by status');
    return Object.fromEntries(rows.map(({ status, runs }) => [status, runs]));
  };

  test.each(['light', 'dark'] as const)(
    'DASH-16 DASH-17 DASH-21 groups with their size, sightings and newest error, as text; each leads to its runs; a class narrows them (%s)',
    async (colorScheme) => {
      await seed(
        paused('Scripted', 'Declined', 5),
        paused('Scripted', 'Declined', 3),
        paused('Scripted', 'Declined', 1),
        paused('Scripted', HOSTILE, 2),
        paused('Scripted', HOSTILE, 2),
        overdue('Elsewhere'),
      );
      await sql(`update workflow_steps set error_message = $1 where error_class = 'Declined' and finished_at = (
        select max(finished_at) from workflow_steps where error_class = 'Declined')`, [`card ${HOSTILE} refused`]); // prettier-ignore
      const page = await open('', { colorScheme });
      await page.getByText('6 runs need attention, in 3 groups.').waitFor();
      expect(await shownRows(groups(page))).toEqual([
        ['Scripted step one', `Paused by an error Declined card ${HOSTILE} refused`, '3', '5 hr ago', '1 hr ago', 'Resume Cancel'], // prettier-ignore
        ['Scripted step one', `Paused by an error ${HOSTILE} ${HOSTILE}`, '2', '2 hr ago', '2 hr ago', 'Resume Cancel'],
        ['Elsewhere step one', 'Due, but no worker takes it', '1', '2 hr ago', '2 hr ago', 'Cancel'],
      ]);
      await expectAccessible(page);
      const links = groups(page).getByRole('link', { name: /^\d+ runs?$/ });
      for (const [place, runs] of [3, 2, 1].entries()) {
        expect([place, await follow(suite, page, links.nth(place))]).toEqual([place, runs]);
      }

      await page.getByRole('combobox', { name: 'Class' }).click();
      await page.getByRole('option', { name: 'Elsewhere' }).click();
      await page.getByText('1 run needs attention, in 1 group.').waitFor();
      expect(searchOf(page)).toEqual({ class: 'Elsewhere' });
      await page.reload();
      await page.getByText('1 run needs attention, in 1 group.').waitFor();
      await page.goto('#/attention?class=Nobody');
      await page.getByText('No run of Nobody needs anybody.').waitFor();
      await expectAccessible(page);
    },
  );

  test('DASH-17 the largest 200 groups are shown, and it says of how many', async () => {
    await seed(...Array.from({ length: 203 }, (_, place) => paused('Scripted', `Error${place}`)), paused('Scripted', 'Error0')); // prettier-ignore
    const page = await open();
    await page.getByText('204 runs need attention, in 203 groups. Shown are the largest 200 of them.').waitFor();
    const rows = groups(page).locator('tbody tr');
    await suite.eventually(async () => (await rows.count()) === 200, '200 groups are shown');
    expect((await shownRows(groups(page)))[0][2]).toBe('2');
  });

  test('DASH-18 DASH-14 DASH-11 Resume names the number and takes a reason; pressed twice at once it acts once; the focus stays on the page', async () => {
    const [first] = await seed(paused('Scripted', 'Declined'), paused('Scripted', 'Declined'), paused('Scripted', 'Other')); // prettier-ignore
    const page = await open();
    const presses: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && presses.push(request.url()));
    await row(page, 'Declined').getByRole('button', { name: /^Resume 2 runs/ }).click(); // prettier-ignore
    await dialog(page).getByRole('heading', { name: 'Resume 2 runs' }).waitFor();
    await expectAccessible(page);
    await dialog(page).getByLabel('Reason').fill('the gateway is up again');
    await dialog(page).getByRole('button', { name: 'Resume 2 runs' }).dblclick();
    await page.getByRole('alert').getByText('Resumed 2.').waitFor();
    await page.getByText('1 run needs attention, in 1 group.').waitFor();
    await dialog(page).waitFor({ state: 'detached' });
    await suite.eventually(
      () => page.evaluate(() => document.activeElement?.tagName === 'H1'),
      'the heading has the focus',
    );
    expect(presses).toHaveLength(1);
    expect(await statuses()).toEqual({ ready: 2, paused: 1 });
    expect(await sql('select actor, reason from workflow_events where workflow_id = $1 and name = $2', [first, 'resumed'])).toEqual([
      { actor: 'dashboard:olga', reason: 'the gateway is up again' },
    ]); // prettier-ignore
  });

  test('DASH-18 one press acts on 500 at most: it says so, tells how many are left, and the next press takes these', async () => {
    await seed(...times(503, () => overdue('Elsewhere')));
    const page = await open();
    const cancel = async (runs: number, all: number) => {
      await row(page, 'Elsewhere').getByRole('button', { name: `Cancel ${all} run` }).click(); // prettier-ignore
      await dialog(page)
        .getByRole('button', { name: `Cancel ${runs} run` })
        .click();
    };
    await row(page, 'Elsewhere').getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).getByText('The group has 503 runs. One press acts on 500 runs at most').waitFor();
    await dialog(page).getByRole('button', { name: 'Back' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    expect(await statuses()).toEqual({ ready: 503 });

    await cancel(500, 503);
    const told = page.getByRole('alert').getByText(/^Cancelled \d+; \d+ are left: press again\.$/);
    await told.waitFor();
    // A press ends after ten seconds too, on a machine that is busy.
    const [done, left] = (await told.innerText()).match(/\d+/g)!.map(Number) as [number, number];
    expect(done).toBeLessThanOrEqual(500);
    expect(done + left).toBe(503);
    await page.getByText(`${left} runs need attention, in 1 group.`).waitFor();
    expect(await statuses()).toEqual({ cancelled: done, ready: left });
    await cancel(left, left);
    await page.getByRole('alert').getByText(`Cancelled ${left}.`).waitFor();
    await page.getByText('No run needs anybody. All is well.').waitFor();
    expect(await statuses()).toEqual({ cancelled: 503 });
  });

  test('DASH-18 DASH-13 when the runs have moved on, or the operator may not, nothing is done and it says so', async () => {
    await seed(paused('Scripted', 'Declined'));
    browsing.expectProblem(/40[39]/);
    const reader = await open('', { as: 'reader' });
    await row(reader, 'Declined').getByRole('button', { name: 'Resume' }).click();
    await dialog(reader).getByRole('button', { name: 'Resume 1 run' }).click();
    await dialog(reader).getByRole('alert').getByText(/may not|not allowed/).waitFor(); // prettier-ignore
    expect(await statuses()).toEqual({ paused: 1 });

    const page = await open();
    await row(page, 'Declined').getByRole('button', { name: 'Resume' }).click();
    await dialog(page).getByRole('button', { name: 'Resume 1 run' }).waitFor();
    await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
    await dialog(page).getByRole('button', { name: 'Resume 1 run' }).click();
    await page.getByRole('alert').filter({ hasText: 'Nothing was done' }).getByText('no run is in this group any more').waitFor(); // prettier-ignore
    await page.getByText('No run needs anybody. All is well.').waitFor();
  });

  test('a refresh changes numbers in place: the row that somebody is at keeps its place and the focus until they leave', async () => {
    await seed(paused('Scripted', 'Large'), paused('Scripted', 'Large'), paused('Scripted', 'Small'));
    const page = await open();
    const sizes = async () => (await shownRows(groups(page))).map(([, why, runs]) => [why.split(' ').at(-1), runs]);
    expect(await sizes()).toEqual([['Large', '2'], ['Small', '1']]); // prettier-ignore
    const button = row(page, 'Small').getByRole('button', { name: 'Resume' });
    await button.focus();
    await seed(...times(5, () => paused('Scripted', 'Small')), paused('Scripted', 'New'));
    // As when somebody comes back to the window: it is read again without waiting for the next time.
    await suite.eventually(async () => {
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
      return (await sizes()).some(([, runs]) => runs === '6');
    }, 'the larger number is shown');
    expect(await sizes()).toEqual([['Large', '2'], ['Small', '6'], ['New', '1']]); // prettier-ignore
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.getByRole('link', { name: 'Insights' }).focus();
    await suite.eventually(async () => (await sizes())[0][0] === 'Small', 'the largest is first');
  });
});
