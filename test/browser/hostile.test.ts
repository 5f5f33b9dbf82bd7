import { fanOut, removedStep, step, Workflow, WorkflowJob, WorkflowOf, type JobHandler } from 'nestjs-pg-workflows';
import type { Page } from 'playwright-core';
import { describeInBrowser } from '../support/browser';
import { dashboardPages } from '../support/dashboard-page';
import { leavePast } from '../support/past-runs';
import { gate, workflowSuite } from '../support/suite';

/** What somebody may write into a field, in all ways at once: `ran` would be told which field it was. */
const evil = (field: string): string =>
  `<img src=x onerror="ran('${field}')"><script>ran('${field}')</script><a href="javascript:ran('${field}')">${field}</a>`;

function errorNamed(name: string, message: string, cause?: Error): Error {
  const { [name]: Named } = { [name]: class extends Error {} };
  return new Named(message, cause && { cause });
}

const released = gate();

@WorkflowJob({ name: evil('job') })
class Held implements JobHandler<object> {
  perform() {
    return released.opened;
  }
}

@Workflow({
  name: evil('class'),
  steps: [
    step<unknown, { fails?: boolean }>(evil('step'), (ctx) => {
      if (ctx.args.fails) {
        throw errorNamed(evil('error class'), evil('message'), errorNamed(evil('cause class'), evil('cause')));
      }
      ctx.output({ [evil('output key')]: evil('output') });
    }),
    step(evil('gate'), () => undefined, { waitFor: evil('signal') }),
    removedStep(evil('removed')),
    fanOut(evil('fan'), (_ctx, batch) => {
      batch.add(Held, {});
    }),
  ],
})
class Evil extends WorkflowOf<null, object> {}

describeInBrowser('what users write, on every page', (browsing) => {
  const suite = workflowSuite();
  const { sql, until, eventually } = suite;
  const dashboard = dashboardPages(suite, browsing, {
    providers: [Evil, Held],
    workflow: {
      worker: { pollInterval: 50 },
      errorReporter: { report: () => undefined },
      metrics: false,
      appRevision: evil('revision'),
    },
    // The server leaves it out: the subject is then text.
    admin: { actor: () => evil('actor'), subjectUrl: () => `javascript:ran('subject url')` },
  });

  /** Runs with such texts wherever there is one: paused by an error, at a signal, paused by hand, with a batch, due in a queue that nobody serves. */
  const plant = async () => {
    const { workflows } = dashboard.app;
    const start = (args: object, idempotencyKey?: string) => workflows.start(Evil, { args, idempotencyKey });
    const failed = await start({ fails: true, [evil('argument key')]: [evil('argument')] }, evil('run key'));
    const [waiting, paused, fanning] = [await start({}), await start({}), await start({})];
    await Promise.all([until(failed, 'paused'), ...[waiting, paused, fanning].map((run) => until(run, 'waiting'))]);
    const payload = { [evil('payload key')]: evil('payload') };
    await fanning.signal(evil('signal'), payload, { idempotencyKey: evil('signal key'), actor: evil('sender') });
    await failed.signal(evil('early signal'), payload);
    await paused.pause({ actor: evil('somebody'), reason: evil('reason') });
    await eventually(
      async () =>
        (await sql('select from workflow_steps where job_name is not null and started_at is not null')).length > 0,
      'the member is at work',
    );
    await leavePast(sql, new Date(), [
      {
        class: evil('strange class'),
        created: -7_200_000,
        status: 'ready',
        attempts: [{ step: 'one', due: -7_200_000 }],
      },
    ]);
    await sql(`update workflow_steps set queue = $2::text where handler = $1::text`, [
      evil('strange class'),
      evil('queue'),
    ]);
    await sql(`update workflows set subject_type = $1::text, subject_id = $2::text || id`, [
      evil('subject type'),
      evil('subject id'),
    ]);
    await sql(`update workflow_steps set worker = $1::text`, [evil('worker')]);
    await sql(`update workflow_steps set error_backtrace = $1::text where error_class is not null`, [
      evil('backtrace'),
    ]);
    return { failed, waiting, paused, fanning };
  };

  /** Each field's text is there, letter by letter. */
  const shows = async (page: Page, ...fields: string[]) => {
    let missing = fields;
    await eventually(async () => {
      const text = (await page.locator('body').textContent()) ?? '';
      missing = fields.filter((field) => !text.includes(evil(field)));
      return missing.length === 0;
    }, 'the page shows what users wrote').catch((error: Error) => {
      error.message += ` at ${decodeURIComponent(page.url())}; not ${missing.join(', ')}`;
      throw error;
    });
    await nothingRan(page);
  };
  const nothingRan = async (page: Page) => {
    expect(await page.evaluate('ranFields')).toEqual([]);
    // A policy that stopped it would hide that it was there.
    expect(await page.locator('img, script:not([src]), [onerror], [href^="javascript:" i]').count()).toBe(0);
  };
  const openAll = async (page: Page, name: string) => {
    const buttons = page.getByRole('button', { name, exact: true });
    await buttons.first().waitFor();
    for (const button of await buttons.all()) await button.click();
  };
  const dialog = (page: Page) => page.getByRole('dialog');

  test('DASH-21 a script in any of it does not run, and is shown as it was written', async () => {
    const { failed, waiting, paused, fanning } = await plant();
    const page = await browsing.page({ baseURL: dashboard.app.page });
    await page.addInitScript('globalThis.ranFields = []; globalThis.ran = (field) => ranFields.push(field)');
    const go = (address: string) => page.goto(`#${address}`);
    const name = encodeURIComponent(evil('class'));

    await go('/runs?state=all');
    await shows(
      page,
      'class',
      'subject type',
      'subject id',
      'step',
      'gate',
      'signal',
      'fan',
      'error class',
      'strange class',
    );
    await page.getByRole('combobox', { name: 'Class' }).click();
    await page.getByRole('option', { name: evil('class') }).click();
    await page.locator('main tr[data-row]', { hasText: evil('strange class') }).waitFor({ state: 'detached' });
    await nothingRan(page);

    await go(`/runs/${failed.id}`);
    await page.getByRole('heading', { level: 1, name: evil('class') }).waitFor();
    await openAll(page, 'Backtrace');
    await openAll(page, 'Payload');
    await shows(
      page,
      'step',
      'error class',
      'message',
      'cause class',
      'cause',
      'backtrace',
      'argument key',
      'argument',
    );
    await shows(
      page,
      'run key',
      'worker',
      'revision',
      'early signal',
      'payload key',
      'payload',
      'subject type',
      'subject id',
    );

    await go(`/runs/${paused.id}`);
    await openAll(page, 'Output');
    await shows(page, 'somebody', 'reason', 'output key', 'output', 'signal', 'gate');
    await go(`/runs/${waiting.id}`);
    await shows(page, 'signal', 'gate', 'fan');
    await go(`/runs/${fanning.id}`);
    await page.getByText(`Batch ${evil('class')}#${evil('fan')} ${fanning.id}`, { exact: true }).waitFor();
    await openAll(page, 'Payload');
    await shows(page, 'sender', 'signal key', 'payload key', 'payload');

    // In forms: what is offered, what was typed, and what is then told.
    await go(`/runs/${paused.id}`);
    await page.getByRole('button', { name: 'Resume at …' }).click();
    expect(await dialog(page).getByLabel('Step').locator('option').allTextContents()).toEqual(
      ['step', 'gate', 'fan'].map(evil),
    );
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Send signal' }).click();
    await dialog(page).getByLabel('Signal name').fill(evil('typed'));
    await dialog(page)
      .getByLabel('Payload')
      .fill(JSON.stringify({ [evil('typed key')]: evil('typed value') }));
    await dialog(page).getByLabel('Reason (optional)').fill(evil('typed reason'));
    await dialog(page).getByRole('button', { name: 'Send signal' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: evil('typed') })
      .waitFor();
    await openAll(page, 'Payload');
    await shows(page, 'typed', 'typed key', 'typed value', 'typed reason', 'actor');

    await go('/attention');
    await shows(page, 'class', 'step', 'error class', 'message', 'strange class', 'gate');
    await page
      .getByRole('row')
      .filter({ hasText: evil('message') })
      .getByRole('button', { name: 'Resume' })
      .click();
    await dialog(page).getByText(evil('error class')).waitFor();
    await nothingRan(page);
    await dialog(page).getByRole('button', { name: 'Back' }).click();
    await go('/definitions');
    await shows(page, 'class', 'strange class');
    await go(`/definitions/${name}`);
    await page.locator('.recharts-bar-rectangle path').first().waitFor();
    await shows(page, 'class', 'step', 'gate', 'signal', 'removed', 'fan', 'revision');
    await go('/summary');
    await shows(page, 'queue', 'worker', 'class', 'fan');

    // In the address itself.
    browsing.expectProblem(/40[04]/);
    for (const address of ['runs/', 'definitions/', 'attention?class=']) {
      await go(`/${address}${encodeURIComponent(evil('address'))}`);
      await shows(page, 'address');
    }
    await go(`/runs?class=${encodeURIComponent(evil('address'))}&created_from=${encodeURIComponent(evil('moment'))}`);
    await page.getByRole('alert').getByText('created_from must be a moment').waitFor();
    expect(await page.getByRole('combobox', { name: 'Class' }).inputValue()).toBe(evil('address'));
    await nothingRan(page);

    released.open();
    await until(fanning, 'finished');
    await sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });
});
