/** Tests in a real browser: Debian's Chromium, driven by Playwright. */

import axe from 'axe-core';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { findChromium, noChromium } from '../../scripts/chromium.mjs';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** For a loaded machine: what a page waits for comes in milliseconds else. */
const PATIENCE_MS = 20_000;

/** What a test may say of its page beside Playwright's own options. */
export interface PageOptions extends BrowserContextOptions {
  /** Where the page is to go: the address of the application, or a path below it that ends in a slash. Relative addresses are beside it. */
  readonly baseURL: string;
  /** Who looks: the cookie that {@link CookieGuard} wants. Null: nobody. Default `olga`. */
  readonly as?: string | null;
}

export interface Browsing {
  /**
   * A page in a context of its own, closed after the test. The test fails when the page did anything that a page of ours must not: an error in its
   * console, an exception, a breach of its content security policy, a request that failed, a request to any host but `baseURL`'s.
   */
  readonly page: (options: PageOptions) => Promise<Page>;
  /** For this test: problems that it provokes. */
  readonly expectProblem: (which: RegExp) => void;
  /** What the pages of this test have done wrong so far. */
  readonly problems: readonly string[];
}

/** A `describe` of tests in a browser, one for all of them. Where there is none, one skipped test says so; with `CI` it fails: nobody would look. */
export function describeInBrowser(what: string, body: (browsing: Browsing) => void): void {
  describe(what, () => {
    const executablePath = findChromium();
    if (executablePath !== undefined) return body(browsing(executablePath));
    const why = `not tested: the dashboard in a browser, for ${noChromium()}`;
    // eslint-disable-next-line jest/expect-expect -- it says what was not tested, and why
    (process.env.CI ? test : test.skip)(why, () => {
      throw new Error(why);
    });
  });
}

function browsing(executablePath: string): Browsing {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const problems: string[] = [];
  const expected: RegExp[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: FLAGS });
  });

  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    const [seen, known] = [problems.splice(0), expected.splice(0)];
    expect(seen.filter((problem) => !known.some((which) => which.test(problem)))).toEqual([]);
  });

  afterAll(async () => {
    await browser?.close();
  });

  return {
    problems,
    expectProblem: (which) => void expected.push(which),
    async page({ as = 'olga', ...options }) {
      const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
      contexts.push(context);
      context.setDefaultTimeout(PATIENCE_MS);
      if (as !== null)
        await context.addCookies([{ name: 'operator', value: as, url: new URL(options.baseURL).origin }]);
      const page = await context.newPage();
      watch(page, new URL(options.baseURL).origin, (problem) => problems.push(problem));
      return page;
    },
  };
}

function watch(page: Page, own: string, report: (problem: string) => void): void {
  page.on('console', (message) => {
    // The browser's own idea, of a page without an icon: a refusal, say.
    if (message.location().url.endsWith('/favicon.ico')) return;
    // Breaches of the content security policy come this way too.
    if (message.type() === 'error') report(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => report(`exception: ${error.message}`));
  page.on('requestfailed', (request) => {
    // A page that is left, or a query that is no longer wanted, gives up what it asked for.
    const why = request.failure()?.errorText ?? '';
    if (why !== 'net::ERR_ABORTED') report(`request failed: ${request.method()} ${request.url()} ${why}`);
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== own && protocol !== 'data:' && protocol !== 'blob:') report(`request elsewhere: ${request.url()}`);
  });
}

/** Rules of WCAG 2, levels A and AA, as far as a program can tell. */
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
}

/** Holds the page as it is now to WCAG 2 A and AA. */
export async function expectAccessible(page: Page): Promise<void> {
  // By the debugger's protocol, which the page's content security policy does not concern.
  await page.evaluate(axe.source);
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(LEVELS)} } }).then(({ violations }) => violations)`,
  );
  const told = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target.join(' ')}: ${failureSummary}`),
  );
  expect(told).toEqual([]);
}
