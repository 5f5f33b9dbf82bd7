import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VersioningType, type INestApplication, type LoggerService } from '@nestjs/common';
import type { AdminRun, WorkflowAdminOptions } from 'nestjs-pg-workflows';
import { bootAdmin, PLATFORMS, type AdminApp, type AdminBoot } from './support/admin';
import { bootDashboard } from './support/dashboard';
import { workflowSuite } from './support/suite';

/** What Vite would have built, and something beside it that is no part of it. */
const SCRIPT = `console.log(${JSON.stringify('a dashboard '.repeat(200))});\n`;
const OLGA = { cookie: 'operator=olga' };
/** Of a page that is an application's own, as helmet has it: half of it is wrong for the dashboard. */
const HELMETED = {
  'content-security-policy': "default-src 'self'; upgrade-insecure-requests",
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'origin',
};

describe('serving the dashboard', () => {
  const suite = workflowSuite();
  const apps: AdminApp[] = [];
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'dashboard-'));
    mkdirSync(path.join(folder, 'dist/assets'), { recursive: true });
    writeFileSync(path.join(folder, 'secret.txt'), 'the combination of the safe');
    writeFileSync(path.join(folder, 'dist/index.html'), '<!doctype html><title>Workflows</title>');
    writeFileSync(path.join(folder, 'dist/assets/index-BEjNcDVN.js'), SCRIPT);
    writeFileSync(path.join(folder, 'dist/assets/plain.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  const boot = async (options: Omit<AdminBoot, 'admin'> & { admin?: WorkflowAdminOptions }) => {
    const app = await bootDashboard(suite, { folder: path.join(folder, 'dist'), ...options });
    apps.push(app);
    return app;
  };
  const follow = { redirect: 'manual' } as const;

  describe.each(PLATFORMS)('on %s', (platform) => {
    test('DASH-20 page and assets lie behind the guards, whatever the path, and nothing but them is found', async () => {
      const { send } = await boot({ platform });
      for (const where of [
        '/admin/workflows',
        '/admin/workflows/',
        '/admin/workflows/index.html',
        '/admin/workflows/assets/index-BEjNcDVN.js',
        '/admin/workflows/assets/nothing.js',
      ]) {
        const refused = await send(where, follow);
        expect([where, refused.status, refused.headers.get('cache-control')]).toEqual([where, 401, 'no-store']);
        expect(refused.text).not.toMatch(/dashboard|doctype/);
      }
      for (const where of ['index.html', 'secret.txt', 'assets/nothing.js', 'assets/', 'assets', 'assets/a/b']) {
        expect([where, (await send(`/admin/workflows/${where}`, { headers: OLGA })).status]).toEqual([where, 404]);
      }
      // As they are sent, where `fetch` would tidy them up.
      for (const where of ['../secret.txt', '..%2f..%2fsecret.txt', '%2e%2e%2findex.html', 'index-BEjNcDVN.js%00', '__proto__', '%']) {
        const [status, text] = await sentAsIs(apps[0], `/admin/workflows/assets/${where}`);
        expect([where, status >= 400 && status < 500, text.includes('combination')]).toEqual([where, true, false]);
      } // prettier-ignore
    });

    test('the page has its own policy of what it may load, whatever the application says of its own pages', async () => {
      const settings = (app: INestApplication) => {
        app.use((_request: unknown, response: { setHeader(name: string, value: string): void }, next: () => void) => {
          for (const [name, value] of Object.entries(HELMETED)) response.setHeader(name, value);
          next();
        });
      };
      const { send } = await boot({ platform, settings });
      const { status, headers, text } = await send('/admin/workflows/', { headers: OLGA });
      expect([status, text]).toEqual([200, '<!doctype html><title>Workflows</title>']);
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      expect(headers.get('content-security-policy')!.split('; ')).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
      ]);
    });

    test('a hashed asset stays with the browser, another is asked for again; both zipped where that is taken', async () => {
      const { send } = await boot({ platform });
      const get = (file: string, headers: Record<string, string>) =>
        send(`/admin/workflows/assets/${file}`, { headers: { ...OLGA, ...headers } });
      const plain = await get('index-BEjNcDVN.js', { 'accept-encoding': 'br, gzip;q=0' });
      const zipped = await get('index-BEjNcDVN.js', { 'accept-encoding': 'gzip, br' });
      expect([plain.text, zipped.text]).toEqual([SCRIPT, SCRIPT]);
      expect([plain, zipped].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
      expect(Number(zipped.headers.get('content-length'))).toBeLessThan(300);
      expect(Object.fromEntries(zipped.headers)).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'private, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: expect.stringMatching(/accept-encoding/i),
      });
      const other = await get('plain.svg', {});
      expect([other.headers.get('cache-control'), other.headers.get('content-type')]).toEqual([
        'private, no-cache',
        'image/svg+xml',
      ]);
      for (const known of [other.headers.get('etag')!, `W/${other.headers.get('etag')}`, `"x", ${other.headers.get('etag')}`]) {
        const again = await get('plain.svg', { 'if-none-match': known });
        expect([again.status, again.text]).toEqual([304, '']);
      } // prettier-ignore
      expect((await get('plain.svg', { 'if-none-match': '"another"' })).status).toBe(200);
      const head = await send('/admin/workflows/assets/index-BEjNcDVN.js', { method: 'HEAD', headers: OLGA });
      expect([head.status, head.text]).toEqual([200, '']);
    });

    test.each<[string, WorkflowAdminOptions, ((app: INestApplication) => void) | undefined, string]>([
      ['at its own path', {}, undefined, '/admin/workflows'],
      ['at another', { path: '/ops' }, undefined, '/ops'],
      ['under a global prefix and versions', {}, versioned, '/service/admin/workflows'],
    ])(
      '%s: without its slash one is sent to the page, by an address relative to where one was',
      async (_what, admin, settings, at) => {
        const { send, url } = await boot({ platform, admin, ...(settings && { settings }) });
        const sent = await send(`${at}?theme=dark`, { headers: OLGA, ...follow });
        expect([sent.status, sent.text]).toEqual([302, '']);
        expect(sent.headers.get('location')).toBe(`./${at.split('/').at(-1)}/?theme=dark`);
        const address = new URL(sent.headers.get('location')!, `${url}${at}`);
        expect(`${address.pathname}${address.search}`).toBe(`${at}/?theme=dark`);
        const page = await send(`${at}/?theme=dark`, { headers: OLGA, ...follow });
        expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
        expect((await send(`${at}/assets/plain.svg`, { headers: OLGA })).status).toBe(200);
        expect((await send(`${at}/api/runs`, { headers: OLGA })).body).toMatchObject({ runs: [] });
        expect((await send(`${at}/api`, { headers: OLGA })).body).toMatchObject({ code: 'NO_SUCH_ROUTE' });
      },
    );

    test('a router that ignores slashes at the end has the page too', async () => {
      const { send } = await boot({ platform, fastify: { routerOptions: { ignoreTrailingSlash: true } } });
      const sent = await send('/admin/workflows', { headers: OLGA, ...follow });
      expect(sent.headers.get('location')).toBe('./workflows/');
      expect((await send('/admin/workflows/', { headers: OLGA, ...follow })).text).toMatch(/<title>Workflows/);
    });

    test('at the root it leaves other routes alone', async () => {
      const { send } = await boot({ platform, admin: { path: '' } });
      expect((await send('/', { headers: OLGA })).text).toMatch(/<title>Workflows/);
      expect((await send('/assets/plain.svg', { headers: OLGA })).status).toBe(200);
      expect((await send('/api/runs', { headers: OLGA })).body).toMatchObject({ runs: [] });
      expect((await send('/elsewhere', { headers: OLGA })).body).toMatchObject({ statusCode: 404, error: 'Not Found' });
    });

    test('whoever may not read does not get the page', async () => {
      const asked: [string, AdminRun | null][] = [];
      const can = (_request: unknown, action: string, run: AdminRun | null) => asked.push([action, run]) === 0;
      const { send } = await boot({ platform, admin: { can } });
      expect(await send('/admin/workflows/', { headers: OLGA })).toMatchObject({
        status: 403,
        body: { code: 'FORBIDDEN' },
      });
      expect(asked).toEqual([['read', null]]);
    });

    test('dashboard: false leaves page and assets out, the API stays', async () => {
      const { send } = await boot({ platform, admin: { dashboard: false } });
      for (const where of ['', '/', '/assets/plain.svg']) {
        expect([where, (await send(`/admin/workflows${where}`, { headers: OLGA })).status]).toEqual([where, 404]);
      }
      expect((await send('/admin/workflows/api/runs', { headers: OLGA })).status).toBe(200);
    });
  });

  test('where the package was built without the dashboard, log and page say what to do', async () => {
    const warned: string[] = [];
    const logger: LoggerService = {
      log() {},
      error() {},
      warn: (message: unknown) => void warned.push(String(message)),
    };
    const app = await bootAdmin(suite, { logger });
    apps.push(app);
    const { status, body } = await app.get('/admin/workflows/');
    expect([status, body.code, body.message]).toEqual([404, 'NO_DASHBOARD', expect.stringMatching(/npm run build/)]);
    expect(warned).toEqual([body.message]);
    expect((await app.get('api/runs')).status).toBe(200);
  });
});

function versioned(app: INestApplication): void {
  app.setGlobalPrefix('service');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
}

function sentAsIs({ url }: AdminApp, where: string): Promise<[number, string]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    ask({ hostname, port, path: where, headers: OLGA }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve([response.statusCode!, text]));
    })
      .on('error', reject)
      .end();
  });
}
