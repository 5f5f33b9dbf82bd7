/** One application with the dashboard for a file of tests, and pages that are open in it. */

import type { Page } from 'playwright-core';
import type { Browsing, PageOptions } from './browser';
import { bootDashboard, type DashboardApp, type DashboardBoot } from './dashboard';
import type { Suite } from './suite';

export interface DashboardPages {
  readonly app: DashboardApp;
  /** A page at an address behind the hash: `/runs?state=paused`. */
  readonly open: (address: string, options?: Partial<PageOptions>) => Promise<Page>;
}

/** Boots before the file's first test, with a worker, and closes after its last. */
export function dashboardPages(suite: Suite, browsing: Browsing, boot: DashboardBoot): DashboardPages {
  let app: DashboardApp;
  beforeAll(async () => {
    app = await bootDashboard(suite, {
      workflow: {
        worker: { pollInterval: 50 },
        errorReporter: { report: () => undefined },
        metrics: false,
        appRevision: 'rev-42',
      },
      ...boot,
    });
  });
  afterAll(async () => {
    await app?.close();
  });
  return {
    get app() {
      return app;
    },
    async open(address, options) {
      const page = await browsing.page({ baseURL: app.page, ...options });
      await page.goto(`#${address}`);
      return page;
    },
  };
}

/** What stands behind the `?` of the hash. */
export function searchOf(page: Page): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? ''));
}
