import { gzipSync } from 'node:zlib';
import { Step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { dashboardPages, searchOf } from '../support/dashboard-page';
import { leavePast, type PastRun } from '../support/past-runs';
import { held, script, Scripted } from '../support/scripted';
import { workflowSuite } from '../support/suite';
import { followAll, shownRows } from './shown';

const HOUR = 3_600_000;

@Workflow()
class Waits extends WorkflowOf {
  @Step({ waitFor: 'go' })
  async wait() {}
}

/** Due, and of a class that no worker has. */
const stranded: PastRun = {
  class: 'Elsewhere',
  created: -2 * HOUR,
  status: 'ready',
  attempts: [{ step: 'one', due: -2 * HOUR }],
};

describeInBrowser('the summary', (browsing) => {
  const suite = workflowSuite();
  const dashboard = dashboardPages(suite, browsing, {
    providers: [Scripted, Waits],
    workflow: { worker: false, metrics: false },
  });

  test('DASH-19 ongoing, paused and stuck runs, queues and workers: numbers that lead to as many runs, and that keep up', async () => {
    const worker = await suite.boot([Scripted, Waits]);
    const atWork = held();
    const fail = () => Promise.reject(new TypeError('no'));
    const runs = [
      await worker.workflows.start(Scripted, script({ two: atWork.body })),
      await worker.workflows.start(Scripted, script({ one: fail })),
      await worker.workflows.start(Scripted, script({ one: fail })),
      await worker.workflows.start(Waits),
    ];
    await leavePast(suite.sql, new Date(), [stranded, stranded, stranded]);
    await atWork.reached;
    await suite.until(runs[1], 'paused');
    await suite.until(runs[2], 'paused');
    await suite.until(runs[3], 'waiting');

    const page = await dashboard.open('/summary');
    const figures = page.locator('main dl');
    await figures.waitFor();
    const told = async () => (await figures.locator('> div').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    expect(await told()).toEqual([
      'Ongoing 7 ongoing runs',
      'Ready 3 ready runs',
      'Performing 1 performing runs',
      'Waiting 1 waiting runs',
      'Paused 2 paused runs',
      'Need attention 5 runs that need attention',
    ]);
    expect(await followAll(suite, page, figures)).toEqual([7, 3, 1, 1, 2]);
    const stuck = page.getByRole('table', { name: 'Runs that need attention, by reason' });
    expect(await shownRows(stuck)).toEqual([
      ['Paused by an error', '2'],
      ['Stalled: its worker was lost', '0'],
      ['Paused by hand', '0'],
      ['Due, but no worker takes it', '3'],
      ['Waiting for long, without a deadline', '0'],
    ]);
    expect(await followAll(suite, page, stuck)).toEqual([2, 3]);
    expect(await shownRows(page.getByRole('table', { name: 'Queues' }))).toEqual([['default', '3', '2h']]);
    const workers = page.getByRole('table', { name: 'Workers' });
    expect(await shownRows(workers)).toEqual([
      [
        expect.stringMatching(new RegExp(`^\\S+:${process.pid} [0-9a-f]{8}$`)),
        expect.stringContaining('ago'),
        '1',
        expect.stringMatching(/^Scripted step two , since .* ago$/),
      ],
    ]);
    expect(await workers.getByRole('link').getAttribute('href')).toContain(`#/runs/${runs[0].id}`);
    await expectAccessible(page);

    atWork.release();
    await suite.until(runs[0], 'finished');
    await workers.getByText('nothing just now').waitFor();
    expect((await told())[0]).toBe('Ongoing 6 ongoing runs');

    await figures.getByRole('link', { name: '5 runs that need attention' }).click();
    await page.getByText('5 runs need attention, in 2 groups.').waitFor();
    expect(searchOf(page)).toEqual({});
  });

  test('what could not be read is said, with a way to try again; the page asks for nothing but the summary', async () => {
    const page = await browsing.page({ baseURL: dashboard.app.page, colorScheme: 'dark' });
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/')) asked.push(new URL(request.url()).pathname.split('/api/')[1]);
    });
    browsing.expectProblem(/503/);
    const answer = { statusCode: 503, code: 'UNAVAILABLE', message: 'The database cannot answer now.' };
    await page.route('**/api/summary', (route) => route.fulfill({ status: 503, json: answer }));
    await page.goto('#/summary');
    const failed = page.getByRole('alert').filter({ hasText: 'The database cannot answer now.' });
    await failed.waitFor();
    await expectAccessible(page);
    await page.unroute('**/api/summary');
    await failed.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('table', { name: 'Runs that need attention, by reason' }).waitFor();
    await failed.waitFor({ state: 'detached' });
    await page.getByText('No worker is seen').waitFor();
    await expectAccessible(page);
    expect(new Set(asked)).toEqual(new Set(['summary']));
  });

  test('what the first page loads is under 300 kB compressed, no file of it is over 500 kB, and charts are not among it', async () => {
    const page = await browsing.page({ baseURL: dashboard.app.page });
    const loaded: Promise<{ url: string; body: Buffer }>[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/api/')) return;
      loaded.push(response.body().then((body) => ({ url: response.url(), body })));
    });
    await page.goto('#/runs');
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    const files = await Promise.all(loaded);
    const compressed = files.reduce((sum, { body }) => sum + gzipSync(body).length, 0);
    expect(compressed).toBeGreaterThan(100_000);
    expect(compressed).toBeLessThan(300_000);
    expect(Math.max(...files.map(({ body }) => body.length))).toBeLessThan(500_000);
    expect(files.filter(({ url }) => url.includes('chart'))).toEqual([]);
  });
});
