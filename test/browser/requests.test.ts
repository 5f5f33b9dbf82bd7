import type { Page, Request } from 'playwright-core';
import { describeInBrowser } from '../support/browser';
import { dashboardPages } from '../support/dashboard-page';
import { Parcel } from '../support/parcels';
import { workflowSuite } from '../support/suite';

/** As often as anything is read. */
const BIT_MS = 2_500;

describeInBrowser('what pages ask for while they are open', (browsing) => {
  const suite = workflowSuite();
  const { until, eventually } = suite;
  const dashboard = dashboardPages(suite, browsing, { providers: [Parcel] });

  /** A page whose clock is the test's; what it asks the API for is counted by path. */
  const openWithClock = async (address: string, heading: string) => {
    const page = await browsing.page({ baseURL: dashboard.app.page });
    const asked = new Map<string, number>();
    let open = 0;
    page.on('request', (request) => {
      const path = new URL(request.url()).pathname.split('/api/')[1];
      if (path === undefined) return;
      open += 1;
      asked.set(path, (asked.get(path) ?? 0) + 1);
    });
    const close = (request: Request) => void (request.url().includes('/api/') && (open -= 1));
    page.on('requestfinished', close);
    page.on('requestfailed', close);
    const settled = () => eventually(() => open === 0, 'every answer has come');
    await page.clock.install();
    await page.goto(`#${address}`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    /** A minute, bit by bit, each with time for its answers. */
    const minute = async () => {
      asked.clear();
      for (let bit = 0; bit < 60_000 / BIT_MS; bit += 1) {
        await page.clock.runFor(BIT_MS);
        await settled();
      }
      return Object.fromEntries(asked);
    };
    return { page, asked, minute, settled };
  };
  const appear = (page: Page, state: 'hidden' | 'visible') =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'visibilityState', { value, configurable: true });
      Object.defineProperty(document, 'hidden', { value: value === 'hidden', configurable: true });
      // It bubbles, as the browser's own does.
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    }, state);

  test('DASH-01 DASH-05 DASH-16 DASH-19 INS-01 every page reads what it shows at its own pace and nothing else; hidden it reads nothing, and once when it is seen again', async () => {
    const run = await dashboard.app.workflows.start(Parcel, { args: { order: 'o' } });
    await until(run, 'waiting');
    const summary = 6;
    const pages: [string, string, Record<string, number>][] = [
      ['/runs', 'Runs', { runs: 12, summary }],
      [`/runs/${run.id}`, 'Parcel', { [`runs/${run.id}`]: 24, [`runs/${run.id}/events`]: 12, summary }],
      ['/attention', 'Needs attention', { attention: 6, summary }],
      ['/definitions', 'Insights', { definitions: 2, summary }],
      ['/definitions/Parcel', 'Parcel', { 'definitions/Parcel': 2, summary }],
      ['/summary', 'Summary', { summary }],
    ];
    for (const [address, heading, aMinute] of pages) {
      const { page, asked, minute, settled } = await openWithClock(address, heading);
      await settled();
      const seen = await minute();
      expect([address, new Set(Object.keys(seen))]).toEqual([address, new Set(Object.keys(aMinute))]);
      // An answer takes a moment of its own, from which the next time counts.
      for (const [path, most] of Object.entries(aMinute)) {
        expect([address, path, seen[path] <= most, seen[path] >= most / 2]).toEqual([address, path, true, true]);
      }
      await appear(page, 'hidden');
      await settled();
      expect([address, await minute()]).toEqual([address, {}]);
      await appear(page, 'visible');
      await eventually(() => asked.size === Object.keys(aMinute).length, 'everything is read again');
      await settled();
      expect([address, [...asked.values()]]).toEqual([address, Object.keys(aMinute).map(() => 1)]);
      await page.close();
    }
    await run.cancel();
  });

  test('DASH-04 typing into a filter asks for nothing until it is complete; a server that cannot answer is asked a few times, not ceaselessly', async () => {
    const { page, asked, minute, settled } = await openWithClock('/runs', 'Runs');
    await settled();
    asked.clear();
    await page.getByLabel('Step', { exact: true }).pressSequentially('charge');
    expect(asked.get('runs')).toBeUndefined();
    await page.keyboard.press('Enter');
    await eventually(() => asked.get('runs') === 1, 'the filter was sent');

    browsing.expectProblem(/503/);
    const answer = { statusCode: 503, code: 'UNAVAILABLE', message: 'The database cannot answer now.' };
    await page.route('**/api/**', (route) => route.fulfill({ status: 503, json: answer }));
    await minute();
    await page.getByRole('alert').filter({ hasText: 'The database cannot answer now.' }).waitFor();
    const { runs, summary } = await minute();
    expect(runs).toBeGreaterThan(0);
    // Two more tries, each after a wait, for each time that it would be read.
    expect(runs).toBeLessThanOrEqual(36);
    expect(summary).toBeLessThanOrEqual(18);
  });

  test('a session that has ended, or an answer that is not the API’s, is told with what to do', async () => {
    const { page, minute, settled } = await openWithClock('/runs', 'Runs');
    await settled();
    browsing.expectProblem(/401/);
    await page.route('**/api/**', (route) => route.fulfill({ status: 401, json: { message: 'Unauthorized' } }));
    await minute();
    await page.getByRole('alert').filter({ hasText: 'You are no longer logged in. Reload the page' }).waitFor();
    await page.unroute('**/api/**');
    await page.route('**/api/**', (route) =>
      route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Log in</p>' }),
    );
    await minute();
    await page.getByRole('alert').filter({ hasText: 'you may no longer be logged in. Reload the page' }).waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBeGreaterThan(0);
  });
});
