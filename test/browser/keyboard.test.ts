import type { Locator, Page } from 'playwright-core';
import { describeInBrowser } from '../support/browser';
import { dashboardPages, searchOf } from '../support/dashboard-page';
import { Parcel, Reminder } from '../support/parcels';
import { workflowSuite } from '../support/suite';

describeInBrowser('with the keyboard alone', (browsing) => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;
  const dashboard = dashboardPages(suite, browsing, { providers: [Parcel, Reminder] });

  const hasFocus = (element: Locator) =>
    element.evaluate((one) => one === document.activeElement, undefined, { timeout: 1_000 }).catch(() => false);
  /** Goes on by Tab until the element has the focus; on the way the focus is never lost, and is seen wherever it is. */
  const tabTo = async (page: Page, element: Locator) => {
    await element.waitFor();
    for (let presses = 0; presses < 150; presses += 1) {
      await page.keyboard.press('Tab');
      const { isThere, isOutside, name, isSeen } = await element.evaluate((one) => {
        const at = document.activeElement!;
        const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
        return {
          isThere: at === one,
          isOutside: at === document.body,
          name: `${at.tagName} ${at.textContent}`,
          // A field shows it by its border.
          isSeen: isField || getComputedStyle(at).outlineStyle !== 'none',
        };
      });
      // After the last element comes the browser's own.
      if (!isOutside) expect([name, isSeen]).toEqual([name, true]);
      if (isThere) return;
    }
    throw new Error(`Tab does not lead to ${element.toString()}`);
  };
  const press = async (page: Page, element: Locator, key = 'Enter') => {
    await tabTo(page, element);
    await page.keyboard.press(key);
  };
  const isAt = (page: Page, selector: string) =>
    eventually(
      () => page.evaluate((one) => !!document.activeElement?.matches(one), selector),
      `the focus is at ${selector}`,
    );

  test('DASH-01 DASH-05 DASH-06 DASH-08 the list, a run, its timeline and an action can be used; the focus is seen, and never lost', async () => {
    const run = await dashboard.app.workflows.start(Parcel, { args: { order: 'o', failures: 2 } });
    await dashboard.app.workflows.start(Reminder, { args: { order: 'r' } });
    await until(run, 'paused');
    const page = await dashboard.open('/runs');
    const link = page.getByRole('link', { name: /^Paused since/ });
    await link.waitFor();

    // The list: past what is on every page, filtered, and a run of it opened.
    await press(page, page.getByRole('link', { name: 'Skip to the content' }));
    await isAt(page, '#main');
    await tabTo(page, page.getByLabel('State'));
    await page.keyboard.type('paus');
    await eventually(() => searchOf(page).state === 'paused', 'the filter is in the address');
    await page.getByRole('link', { name: /^Scheduled:/ }).waitFor({ state: 'detached' });
    await press(page, link);
    await page.getByRole('heading', { name: 'Parcel', level: 1 }).waitFor();
    await isAt(page, '#main');

    // An action: its form has the focus and keeps it, Enter sends it, and the page has it again.
    await press(page, page.getByRole('button', { name: /^Resume: try/ }));
    const dialog = page.getByRole('dialog');
    await tabTo(page, dialog.getByLabel('Reason (optional)'));
    await page.keyboard.type('by keys');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await eventually(
      () => hasFocus(page.getByRole('button', { name: /^Resume: try/ })),
      'the button has the focus again',
    );
    await page.keyboard.press('Enter');
    await tabTo(page, dialog.getByLabel('Reason (optional)'));
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await until(run, 'waiting');
    await isAt(page, 'h1');
    const [{ reason }] = await sql(`select reason from workflow_events where workflow_id = $1 and name = 'resumed'`, [
      run.id,
    ]);
    expect(reason).toBe('by keys');

    // A time says exactly when; the timeline is zoomed and moved; an error's backtrace is opened.
    await tabTo(page, page.locator('dt', { hasText: 'Created' }).locator('..').locator('time'));
    await page
      .getByRole('tooltip')
      .filter({ hasText: /CES?T$/ })
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
    const timeline = page.getByRole('group', { name: 'Timeline', exact: true });
    const whole = page.getByRole('button', { name: 'Whole run' });
    await tabTo(page, timeline);
    expect(await whole.isDisabled()).toBe(true);
    await page.keyboard.press('+');
    await page.keyboard.press('ArrowLeft');
    await eventually(() => whole.isEnabled(), 'it is zoomed');
    await page.keyboard.press('0');
    await eventually(() => whole.isDisabled(), 'the whole run is shown');
    expect(await hasFocus(timeline)).toBe(true);
    await press(page, page.getByRole('button', { name: 'Backtrace' }).first());
    await tabTo(page, page.getByRole('region', { name: 'Backtrace' }));

    // And on to another page.
    await press(page, page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Insights' }));
    await page.getByRole('table', { name: 'Classes of workflows' }).waitFor();
    await press(page, page.getByRole('link', { name: 'Parcel', exact: true }));
    await page.getByRole('heading', { name: 'Parcel', level: 1 }).waitFor();
    await isAt(page, '#main');
    await run.cancel();
  });
});
