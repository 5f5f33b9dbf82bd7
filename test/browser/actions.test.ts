import type { Locator, Page, Route } from 'playwright-core';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { dashboardPages } from '../support/dashboard-page';
import { Parcel, Reminder } from '../support/parcels';
import { gate, workflowSuite } from '../support/suite';

describeInBrowser('acting on a run', (browsing) => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const dashboard = dashboardPages(suite, browsing, {
    providers: [Parcel, Reminder],
    admin: { can: (_, action, run) => !(action === 'cancel' && run?.class === 'Reminder') },
  });
  let orders = 0;
  const parcel = (failures = 0) =>
    dashboard.app.workflows.start(Parcel, { args: { order: `o${(orders += 1)}`, failures } });
  const reminder = () => dashboard.app.workflows.start(Reminder, { args: { order: 'r' } });

  const buttons = (page: Page) => page.getByRole('group', { name: 'Actions' }).getByRole('button').allTextContents();
  const dialog = (page: Page) => page.getByRole('dialog');
  /** Opens the form of an action. */
  const press = async (page: Page, name: string | RegExp) => {
    await page.getByRole('group', { name: 'Actions' }).getByRole('button', { name }).click();
    await dialog(page).waitFor();
  };
  const send = (page: Page, name: string) => dialog(page).getByRole('button', { name, exact: true }).click();
  const told = (page: Page, text: string | RegExp) => page.getByRole('alert').filter({ hasText: text }).waitFor();
  const lastEvent = async (id: string, name: string) => {
    const [row] = await sql(
      `select actor, reason, details from workflow_events where workflow_id = $1 and name = $2 order by id desc limit 1`,
      [id, name],
    );
    return row;
  };
  const statusOf = async (id: string) => (await sql('select status from workflows where id = $1', [id]))[0].status;
  const signals = (id: string) =>
    sql('select name, payload, idempotency_key from workflow_signals where workflow_id = $1 order by id', [id]);

  test('DASH-08 DASH-09 DASH-11 DASH-14 a paused run: its actions and no others; Resume says that it tries again, and leaves who and why on the trail', async () => {
    const run = await parcel(2);
    await until(run, 'paused');
    const page = await dashboard.open(`/runs/${run.id}`);
    await page.getByRole('heading', { name: 'Parcel', level: 1 }).waitFor();
    expect(await buttons(page)).toEqual([
      'Resume: try step "charge" again',
      'Resume at …',
      'Send signal',
      'Cancel run',
    ]);

    await press(page, /^Resume: try/);
    await expectAccessible(page);
    await dialog(page).getByLabel('Reason (optional)').fill('the gateway is up again');
    await send(page, 'Resume');
    await told(page, 'Resumed.');
    await until(run, 'waiting');
    expect(await lastEvent(run.id, 'resumed')).toMatchObject({
      actor: 'dashboard:olga',
      reason: 'the gateway is up again',
    });
    await page.getByText('Resumed by dashboard:olga: the gateway is up again').waitFor();
    await page.getByText(/^Waiting for signal "shipped"/).waitFor();
    // The button is gone that had the focus.
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
  });

  test('DASH-09 DASH-10 DASH-11 Resume that goes on says so; Resume at offers the declared steps; a blank reason is none', async () => {
    const run = await parcel();
    await until(run, 'waiting');
    await run.pause();
    const page = await dashboard.open(`/runs/${run.id}`);
    await press(page, 'Resume: go on waiting for signal "shipped"');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    await press(page, 'Resume at …');
    const steps = dialog(page).getByLabel('Step');
    expect(await steps.locator('option').allTextContents()).toEqual(['charge', 'ship', 'deliver']);
    await steps.selectOption('deliver');
    await dialog(page).getByLabel('Reason (optional)').fill('   ');
    await send(page, 'Resume at');
    await told(page, 'Resumed at step "deliver".');
    await until(run, 'finished');
    expect(await lastEvent(run.id, 'resumed')).toMatchObject({ reason: null, details: { step: 'deliver' } });
  });

  test('DASH-08 DASH-10 a scheduled run can be run now and rescheduled; what the operator may not do is said in the form', async () => {
    const run = await reminder();
    const page = await dashboard.open(`/runs/${run.id}`);
    await press(page, 'Reschedule');
    expect(await buttons(page)).toEqual(['Pause', 'Run now', 'Reschedule', 'Send signal', 'Cancel run']);
    // The browser of the tests is in Berlin.
    await dialog(page).getByLabel('Due at (Europe/Berlin)').fill('2031-01-31T15:02');
    await send(page, 'Reschedule');
    await told(page, 'Rescheduled to 2031-01-31T14:02:00.000Z.');
    const [row] = await sql('select scheduled_at from workflow_steps where workflow_id = $1', [run.id]);
    expect(row.scheduled_at.toISOString()).toBe('2031-01-31T14:02:00.000Z');

    browsing.expectProblem(/403/);
    await press(page, 'Cancel run');
    await send(page, 'Cancel run');
    await dialog(page).getByRole('alert').filter({ hasText: 'The request failed' }).waitFor();
    expect(await statusOf(run.id)).toBe('ready');
    await dialog(page).getByRole('button', { name: 'Leave it' }).click();

    await press(page, 'Run now');
    await send(page, 'Run now');
    await told(page, 'Its step is due now.');
    await until(run, 'finished');
    expect(await trail(run)).toContain('run_now');
  });

  test('DASH-10 Skip step for a waiting run; Cancel; Run again of an ended one leads to the new run', async () => {
    const run = await parcel();
    await until(run, 'waiting');
    const page = await dashboard.open(`/runs/${run.id}`);
    await press(page, 'Skip step');
    expect(await buttons(page)).toEqual(['Pause', 'Skip step', 'Send signal', 'Cancel run']);
    await send(page, 'Skip step');
    await told(page, 'The step it waited at was skipped.');
    await until(run, 'finished');
    await page.getByRole('button', { name: 'Run again' }).waitFor();
    expect(await buttons(page)).toEqual(['Run again']);

    await press(page, 'Run again');
    await send(page, 'Run again');
    await page.getByText('Rerun of').waitFor();
    const id = new URL(page.url()).hash.split('/').at(-1)!;
    expect(id).not.toBe(run.id);
    expect(await sql('select rerun_of from workflows where id = $1', [id])).toEqual([{ rerun_of: run.id }]);
    await until(id, 'waiting');

    await press(page, 'Cancel run');
    await dialog(page).getByLabel('Reason (optional)').fill('by mistake');
    await send(page, 'Cancel run');
    await told(page, 'Cancelled.');
    await page
      .getByRole('main')
      .getByText(/^Cancelled by dashboard:olga at .*: by mistake$/)
      .waitFor();
    expect(await lastEvent(id, 'cancelled')).toMatchObject({ actor: 'dashboard:olga', reason: 'by mistake' });
  });

  test('DASH-13 when the run has moved on, nothing is done, and the message says where it is now', async () => {
    browsing.expectProblem(/409/);
    const run = await parcel(2);
    await until(run, 'paused');
    const page = await dashboard.open(`/runs/${run.id}`);
    await press(page, /^Resume: try/);
    await run.resume({ actor: 'bob' });
    await until(run, 'waiting');
    const before = await trail(run);
    await send(page, 'Resume');
    await told(page, /Nothing was done.*The run now: Waiting for signal "shipped"/s);
    expect(await trail(run)).toEqual(before);
    await dialog(page).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Skip step' }).waitFor();
  });

  test('DASH-13 a run that was seen waiting and is paused by now is not cancelled', async () => {
    browsing.expectProblem(/409/);
    const run = await parcel();
    await until(run, 'waiting');
    const page = await dashboard.open(`/runs/${run.id}`);
    await press(page, 'Cancel run');
    await run.pause({ actor: 'bob' });
    await send(page, 'Cancel run');
    await told(page, /Nothing was done.*Paused/s);
    expect(await statusOf(run.id)).toBe('paused');
  });

  test('DASH-12 a signal: what is no JSON object is refused with a message where it breaks, and stores nothing', async () => {
    const run = await parcel();
    await until(run, 'waiting');
    const page = await dashboard.open(`/runs/${run.id}`);
    await press(page, 'Send signal');
    // It waits for this one.
    expect(await dialog(page).getByLabel('Signal name').inputValue()).toBe('shipped');
    const payload = dialog(page).getByLabel('Payload');
    for (const [typed, message] of [
      ['{\n  "amount": 42,,\n}', /not JSON at line 2, column 16/],
      ['{"a":}', 'This is not JSON at line 1, column 6: a value is missing.'],
      ['{"a":1', 'This is not JSON at line 1, column 7: the closing brace is missing.'],
      ['{"order": 12345678901234567890}', 'The number 12345678901234567890 is too large to be kept exactly.'],
      ['[1, 2]', 'This is a list.'],
      ['"text"', 'This is a string.'],
      ['null', 'This is null.'],
    ] as const) {
      await payload.fill(typed);
      await send(page, 'Send signal');
      await dialog(page).getByText(message).waitFor();
    }
    await expectAccessible(page);
    expect(await signals(run.id)).toEqual([]);
    await payload.fill('{"amount": 42}');
    await send(page, 'Send signal');
    await told(page, 'Signal "shipped" was sent, and taken by the step that waited for it.');
    await until(run, 'finished');
    expect(await signals(run.id)).toEqual([
      { name: 'shipped', payload: { amount: 42 }, idempotency_key: expect.stringMatching(/^dashboard-[0-9a-f]{32}$/) },
    ]);
  });

  test('DASH-12 a double click on Send signal sends and stores one, however fast it is; each form that is opened is a signal of its own', async () => {
    const run = await parcel(2);
    await until(run, 'paused');
    const page = await dashboard.open(`/runs/${run.id}`);
    const presses: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && presses.push(request.url()));
    // Each answer is held back until the second click is over.
    let answer = gate();
    await page.route('**/signal', async (route) => {
      await answer.opened;
      await route.continue();
    });
    const ways: ((button: Locator) => Promise<void>)[] = [
      (button) => button.dblclick(),
      // Before the page has been drawn again.
      (button) => button.evaluate((element: HTMLElement) => [0, 1].forEach(() => element.click())),
    ];
    for (const [place, click] of ways.entries()) {
      await press(page, 'Send signal');
      await dialog(page).getByLabel('Signal name').fill('note');
      await click(dialog(page).getByRole('button', { name: 'Send signal', exact: true }));
      answer.open();
      await dialog(page).waitFor({ state: 'detached' });
      answer = gate();
      expect(presses).toHaveLength(place + 1);
      expect(await signals(run.id)).toHaveLength(place + 1);
    }
  });

  test('DASH-12 a signal whose answer was lost can be sent again: it is stored once', async () => {
    browsing.expectProblem(/request failed|ERR_FAILED/);
    const run = await parcel(2);
    await until(run, 'paused');
    const page = await dashboard.open(`/runs/${run.id}`);
    const loseAnswer = async (route: Route) => {
      await route.fetch();
      await route.abort('failed');
    };
    await page.route('**/signal', loseAnswer, { times: 1 });
    await press(page, 'Send signal');
    await dialog(page).getByLabel('Signal name').fill('note');
    await send(page, 'Send signal');
    await dialog(page).getByText('Whether it was done is not known').waitFor();
    expect(await signals(run.id)).toHaveLength(1);
    await send(page, 'Send signal');
    await told(page, 'A signal with this idempotency key was sent before: nothing was stored.');
    expect(await signals(run.id)).toHaveLength(1);
  });
});
