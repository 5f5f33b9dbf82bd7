import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VersioningType, type INestApplication } from '@nestjs/common';
import type { WorkflowAdminOptions } from 'nestjs-pg-workflows';
import { PLATFORMS } from '../support/admin';
import { describeInBrowser, expectAccessible } from '../support/browser';
import { bootDashboard, type DashboardApp, type DashboardBoot } from '../support/dashboard';
import { workflowSuite } from '../support/suite';

describeInBrowser('the dashboard, where it is mounted', (browsing) => {
  const suite = workflowSuite();
  const apps: DashboardApp[] = [];
  const proxies: Server[] = [];
  const boot = async (options: DashboardBoot = {}) => {
    const app = await bootDashboard(suite, options);
    apps.push(app);
    return app;
  };
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) {
      proxy.close();
      proxy.closeAllConnections();
    }
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  /** Hands on what comes under `prefix`, without it: as `proxy_pass` with a path does. */
  const proxyTo = async (target: string, prefix: string) => {
    const { hostname, port } = new URL(target);
    const proxy = createServer((asked, answer) => {
      if (!asked.url!.startsWith(`${prefix}/`)) {
        answer.writeHead(502).end('not for this application');
        return;
      }
      const { method, headers } = asked;
      const passed = forward({ hostname, port, method, headers, path: asked.url!.slice(prefix.length) }, (response) => {
        answer.writeHead(response.statusCode!, response.headers);
        response.pipe(answer);
      });
      passed.on('error', () => answer.destroy());
      asked.pipe(passed);
    });
    proxies.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`;
  };

  const mounts: [string, WorkflowAdminOptions, ((app: INestApplication) => void) | undefined, string, string | null][] =
    [
      ['at its own path', {}, undefined, '/admin/workflows', null],
      ['at a path of the application', { path: 'ops' }, undefined, '/ops', null],
      ['under a global prefix, versions, and a proxy that strips a part of the path', {}, versioned, '/service/admin/workflows', '/shop/eu'],
    ]; // prettier-ignore

  describe.each(PLATFORMS)('on %s', (platform) => {
    test.each(mounts)(
      'DASH-20 %s it opens, loads nothing from elsewhere, and breaks none of its own rules',
      async (_where, admin, settings, at, prefix) => {
        const app = await boot({ platform, admin, ...(settings && { settings }) });
        const url = `${prefix === null ? app.url : await proxyTo(app.url, prefix)}${at}`;
        const page = await browsing.page({ baseURL: `${url}/` });
        const policies: string[] = [];
        const asked: string[] = [];
        page.on('response', (response) => {
          asked.push(response.url());
          const policy = response.headers()['content-security-policy'];
          if (policy !== undefined) policies.push(policy);
        });

        // Without its slash: that is how people type it.
        await page.goto(`${url}?from=a-bookmark#/summary`);
        await page.getByRole('main').waitFor();
        expect(page.url()).toBe(`${url}/?from=a-bookmark#/summary`);
        expect(policies).toEqual([expect.stringMatching(/^default-src 'none'; script-src 'self';/)]);
        expect(asked.some((one) => one.startsWith(`${url}/assets/`))).toBe(true);
        expect(await page.evaluate(() => new URL('api/', document.baseURI).href)).toBe(`${url}/api/`);
        expect(await page.evaluate(async () => (await fetch('api/summary')).status)).toBe(200);
      },
    );
  });

  test('DASH-20 without access one sees neither the page nor an asset of it', async () => {
    const app = await boot();
    const stranger = await browsing.page({ baseURL: app.page, as: null });
    browsing.expectProblem(/^console: Failed to load resource: .* 401/);
    expect((await stranger.goto(''))!.status()).toBe(401);
    expect(await stranger.content()).not.toMatch(/root|script/);
    const olga = await browsing.page({ baseURL: app.page });
    await olga.goto('');
    const assets = await olga.evaluate(() => [...document.scripts].map(({ src }) => src));
    expect(assets.length).toBeGreaterThan(0);
    for (const asset of assets) expect([asset, (await fetch(asset)).status]).toEqual([asset, 401]);
  });

  test('its own policy keeps out what somebody might get into the page: a script, an address elsewhere', async () => {
    const app = await boot();
    const page = await browsing.page({ baseURL: app.page });
    await page.goto('');
    await page.getByRole('main').waitFor();
    browsing.expectProblem(/Content Security Policy/);
    browsing.expectProblem(/request (elsewhere|failed)/);
    const ran = await page.evaluate(async () => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
      const handler = document.createElement('img');
      handler.setAttribute('onerror', 'window.ran = true');
      handler.src = 'data:,';
      document.body.append(handler);
      const elsewhere = await fetch('https://elsewhere.example/').then(
        () => true,
        () => false,
      );
      return [elsewhere, 'ran' in window];
    });
    expect(ran).toEqual([false, false]);
    expect(browsing.problems.filter((problem) => /Content Security Policy/.test(problem)).length).toBeGreaterThan(1);
  });

  test('opened again, its assets come from the cache of the browser', async () => {
    const app = await boot();
    const page = await browsing.page({ baseURL: app.page });
    await page.goto('');
    await page.getByRole('main').waitFor();
    await page.goto('about:blank');
    await page.goto('');
    await page.getByRole('main').waitFor();
    const loaded = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map((entry) => entry as PerformanceResourceTiming)
        .filter(({ name }) => name.includes('/assets/'))
        .map(({ name, transferSize }) => [name, transferSize]),
    );
    expect(loaded.length).toBeGreaterThan(1);
    expect(loaded.filter(([, size]) => size !== 0)).toEqual([]);
  });

  test.each(['light', 'dark'] as const)('its frame is accessible by WCAG 2 AA, %s', async (colorScheme) => {
    const app = await boot();
    const page = await browsing.page({ baseURL: app.page, colorScheme });
    await page.goto('');
    await page.getByRole('main').waitFor();
    await expectAccessible(page);
  });
});

function versioned(app: INestApplication): void {
  app.setGlobalPrefix('service');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
}
