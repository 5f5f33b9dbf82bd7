import { FanOut, RemovedStep, Step, Workflow, WorkflowOf, matcher } from 'nestjs-pg-workflows';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { dashboardPages, searchOf } from '../support/dashboard-page';
import { leavePast, ran, type PastAttempt, type PastRun } from '../support/past-runs';
import { workflowSuite } from '../support/suite';
import { brokenWords, follow, followAll, shownRows } from './shown';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const ORDER = 'shop.Order/v2:eu';
const HOSTILE = '<img src=x onerror="document.body.innerHTML=1">/100%?#&';
const NOT_LOADED = 'The definition is not loaded in this process: its steps are those that its runs have had.';

@Workflow({ name: ORDER })
class Order extends WorkflowOf {
  @Step()
  async charge() {}

  @Step({ waitFor: 'paid', waitTimeout: '36 hours' })
  async pay() {}

  @Step({ waitFor: matcher('shipped', () => true), waitTimeout: 'until' })
  async ship() {}

  @RemovedStep()
  declare inspect: never;

  @FanOut()
  async tell() {}

  until() {
    return null;
  }
}

describeInBrowser('insights', (browsing) => {
  const suite = workflowSuite();
  const dashboard = dashboardPages(suite, browsing, {
    providers: [Order],
    workflow: { worker: false, metrics: false, retention: '20 days' },
  });
  const orderPage = `/definitions/${encodeURIComponent(ORDER)}`;

  beforeAll(async () => {
    const bulk = Array.from({ length: 1_234 }, () => ran('Bulk', -HOUR, SECOND));
    await leavePast(suite.sql, new Date(), [
      ...bulk,
      ran(HOSTILE, -HOUR, SECOND),
      ...ongoingOrders(),
      ...endedOrders(),
    ]);
  });

  test('INS-01 INS-02 INS-13 INS-15 the list: a row for every class, loaded or not; its counts lead to as many runs, and to the groups that need attention', async () => {
    const page = await dashboard.open('/definitions');
    const table = page.getByRole('table', { name: 'Classes of workflows' });
    await table.waitFor();
    expect(await shownRows(table)).toEqual([
      [`${HOSTILE} ${NOT_LOADED}`, '0', '0', '0', '1', '0', '1s Only 1 sample.', '1s Only 1 sample.'],
      [`Bulk ${NOT_LOADED}`, '0', '0', '0', '1,234', '0', '1s', '1s'],
      [`${ORDER} 1 ongoing run stands on a removed step.`, '9', '3', '7', '24', '1', '2s', '10s'],
    ]);
    await expectAccessible(page);

    await table.getByRole('button', { name: 'Ongoing' }).click();
    expect((await shownRows(table)).map(([name]) => name)[0]).toContain(ORDER);
    expect(await table.getByRole('columnheader', { name: 'Ongoing' }).getAttribute('aria-sort')).toBe('descending');

    const order = table.getByRole('row', { name: ORDER });
    expect(await followAll(suite, page, order)).toEqual([9, 3, 24, 1]);
    await order.getByRole('link', { name: '7 need attention' }).click();
    await page.getByText('7 runs need attention, in 5 groups.').waitFor();
    expect(searchOf(page)).toEqual({ class: ORDER });
  });

  test('INS-03 INS-04 INS-05 INS-06 INS-07 the pipeline: steps in order, what they wait for, who is at them, how their attempts did', async () => {
    const page = await dashboard.open(orderPage);
    const table = page.getByRole('table', { name: 'Steps of the class' });
    await table.waitFor();
    expect((await shownRows(table)).map((cells) => cells.join(' | '))).toEqual([
      'charge | 2 | 1 | 0 | 2 | 31 | p50 0ms p95 0ms p99 0ms | p50 2s p95 2s p99 2s | 19.4% | 12.9% | 0%',
      'pay Waits for signal "paid" . Deadline: 1d 12h. | 0 | 0 | 1 | 0 | 4 | p50 0ms p95 0ms p99 0ms Only 4 samples. | p50 5s p95 5s p99 5s Only 4 samples. | 0% | 0% | 0%',
      'ship Waits for signal that matches "shipped" . Deadline: dynamic (per run). | 0 | 0 | 0 | 1 | 1 | – | – | 0% | 0% | 100%',
      'inspect removed | 1 | 0 | 0 | 0 | 0 | – | – | – | – | –',
      'tell fan-out | 1 | 0 | 0 | 0 | 0 | – | – | – | – | –',
    ]);
  });

  test('INS-13 each count of a class leads to exactly so many runs; numbers of attempts lead nowhere', async () => {
    const page = await dashboard.open(orderPage);
    const main = page.locator('main');
    await page.getByRole('table', { name: 'Steps of the class' }).waitFor();
    const figures = [9, 3, 34, 24, 1];
    const pipeline = [2, 1, 2, 1, 1, 1, 1];
    const funnel = [5, 1, 1, 1, 1, 24, 1];
    expect(await followAll(suite, page, main)).toEqual([...figures, ...pipeline, ...funnel]);
    expect(await follow(suite, page, main.getByRole('link', { name: '0 runs running at step pay' }))).toBe(0);
    expect(await page.getByRole('table', { name: 'Revisions of the application' }).getByRole('link').count()).toBe(0);
  });

  test.each(['light', 'dark'] as const)(
    'INS-08 INS-09 INS-10 INS-11 throughput, durations, funnel and revisions, as pictures and in words (%s)',
    async (colorScheme) => {
      const page = await dashboard.open(orderPage, { colorScheme });
      const chart = page.getByRole('img', { name: /^34 runs were started, 24 runs finished, 1 run was cancelled\./ });
      await chart.locator('.recharts-bar-rectangle path').first().waitFor();
      await page.getByText('The same as a table').click();
      const series = await shownRows(page.getByRole('table', { name: 'Runs started, finished and cancelled' }));
      const total = (column: number) => series.reduce((sum, row) => sum + Number(row[column]), 0);
      expect([series.length, total(1), total(2), total(3)]).toEqual([24, 34, 24, 1]);

      expect(await shownRows(page.getByRole('table', { name: 'How long runs took' }))).toEqual([
        ['1s to 3s', '20', ''],
        ['3s to 10s', '0', ''],
        ['10s to 30s', '4', ''],
      ]);
      expect(await shownRows(page.getByRole('table', { name: 'How far runs got' }))).toEqual([
        ['charge', '30', '5', ''],
        ['pay', '5', '1', ''],
        ['ship', '2', '1', ''],
        ['inspect', '1', '1', ''],
        ['tell', '1', '1', ''],
        ['Finished', '–', '24', ''],
        ['Cancelled', '–', '1', ''],
      ]);
      expect(await shownRows(page.getByRole('table', { name: 'Revisions of the application' }))).toEqual([
        ['r2 fails more than the one before', '1 hr ago', '12', expect.stringMatching(/^p50 .* Only 12 samples\.$/), '33.3%', '33.3%', '0%'], // prettier-ignore
        ['r1', '3 hr ago', '20', 'p50 2s p95 2s p99 2s', '0%', '0%', '0%'],
      ]);
      await expectAccessible(page);
    },
  );

  test('INS-12 INS-08 the window is chosen by keyboard too, stays in the address, and says when less is kept; one that does not exist is refused', async () => {
    const page = await dashboard.open(orderPage);
    const bars = page.getByRole('table', { name: 'Runs started, finished and cancelled' }).locator('tbody tr');
    await page.getByText('The same as a table').click();
    const buckets = async (count: number) =>
      suite.eventually(async () => (await bars.count()) === count, `there are ${count} buckets`);
    await buckets(24);
    await page.getByRole('radio', { name: '24 hours' }).focus();
    await page.keyboard.press('ArrowLeft');
    await buckets(12);
    expect(searchOf(page)).toEqual({ window: '1h' });
    await page.getByRole('radio', { name: '30 days' }).focus();
    await page.keyboard.press('Space');
    await page.getByText('It is shorter than its name').waitFor();
    await buckets(20);
    await page.reload();
    expect(await page.getByRole('radio', { name: '30 days' }).isChecked()).toBe(true);
    await page.getByRole('link', { name: 'All classes' }).click();
    await page.getByRole('table', { name: 'Classes of workflows' }).waitFor();
    expect(searchOf(page)).toEqual({ window: '30d' });

    browsing.expectProblem(/400/);
    await page.goto('#/definitions?window=2h');
    await page.getByRole('alert').getByText('window must be one of: 1h, 24h, 7d, 30d').waitFor();
  });

  test('INS-17 DASH-21 a class opens whatever is in its name, and the name is text; one that does not exist is said not to', async () => {
    const page = await dashboard.open('/definitions');
    await page.getByRole('link', { name: HOSTILE, exact: true }).click();
    await page.getByRole('heading', { name: HOSTILE, level: 1, exact: true }).waitFor();
    await page.getByText(NOT_LOADED).waitFor();
    expect(await page.title()).toBe(`${HOSTILE} · Workflows`);
    expect(await page.locator('img').count()).toBe(0);
    expect(await followAll(suite, page, page.locator('main dl'))).toEqual([1, 1]);
    await page.reload();
    await page.getByRole('heading', { name: HOSTILE, level: 1, exact: true }).waitFor();

    browsing.expectProblem(/404/);
    await page.goto('#/definitions/Nobody');
    await page.getByRole('alert').getByText('no workflow class "Nobody"').waitFor();
  });

  test('a phone shows all of it without scrolling sideways', async () => {
    const page = await dashboard.open(orderPage, { viewport: { width: 360, height: 740 } });
    await page.locator('.recharts-bar-rectangle path').first().waitFor();
    expect(await page.evaluate(() => document.scrollingElement!.scrollWidth)).toBe(360);
    expect(await brokenWords(page)).toEqual([]);
    await expectAccessible(page);
    await page.goto('#/definitions');
    const row = page.getByRole('table', { name: 'Classes of workflows' }).getByRole('row', { name: ORDER });
    await row.getByRole('link', { name: '9 ongoing runs' }).waitFor();
    expect(await page.evaluate(() => document.scrollingElement!.scrollWidth)).toBe(360);
    expect(await brokenWords(page)).toEqual([]);
  });
});

function ongoingOrders(): PastRun[] {
  const began = -2 * HOUR;
  const run = (status: PastRun['status'], ...attempts: Omit<PastAttempt, 'due'>[]): PastRun => ({
    class: ORDER,
    created: began,
    status,
    attempts: attempts.map((attempt) => ({ due: began, ...attempt })),
  });
  const failed = { started: began, ended: began + 2 * SECOND, status: 'failed', outcome: 'paused' } as const;
  return [
    run('ready', { step: 'charge' }),
    run('ready', { step: 'charge' }),
    run('performing', { step: 'charge', started: -HOUR }),
    run('paused', { step: 'charge', ...failed, error: 'Declined' }),
    run('paused', { step: 'charge', ...failed, error: 'Declined' }),
    run('waiting', { step: 'pay', status: 'waiting' }),
    run('paused', { step: 'ship', status: 'waiting' }),
    run('ready', { step: 'inspect' }),
    run('ready', { step: 'ship', ended: began, status: 'skipped', outcome: 'skipped' }, { step: 'tell' }),
  ];
}

/** Twenty of a revision that does well, four of one that does not, and one that was cancelled; all of the last day but one. */
function endedOrders(): PastRun[] {
  const well = Array.from({ length: 20 }, () => ran(ORDER, -3 * HOUR, 2 * SECOND, { step: 'charge', revision: 'r1' }));
  const ill = Array.from({ length: 4 }, (): PastRun => {
    const [created, again, pay, ended] = [10, 8, 5, 0].map((ago) => -HOUR - ago * SECOND) as [number, number, number, number]; // prettier-ignore
    const charge = { step: 'charge', revision: 'r2' };
    return {
      class: ORDER,
      created,
      ended,
      status: 'finished',
      attempts: [
        { ...charge, due: created, started: created, ended: again, status: 'failed', outcome: 'reattempted', error: 'Declined' }, // prettier-ignore
        { ...charge, due: again, started: again, ended: again + 2 * SECOND },
        { step: 'pay', revision: 'r2', due: pay, started: pay, ended },
      ],
    };
  });
  const cancelled: PastRun = {
    class: ORDER,
    created: -2 * HOUR,
    ended: -HOUR,
    status: 'cancelled',
    attempts: [{ step: 'charge', due: -2 * HOUR, ended: -HOUR, status: 'cancelled', outcome: 'cancelled' }],
  };
  return [...well, ...ill, cancelled, ran(ORDER, -2 * DAY, SECOND, { step: 'charge' })];
}
