import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  Inject,
  Injectable,
  Module,
  ValidationPipe,
  VersioningType,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type LoggerService,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import {
  WorkflowMcpModule,
  type WorkflowMcpAsyncOptions,
  type WorkflowMcpOptions,
  type WorkflowMcpSettings,
} from 'nestjs-pg-workflows/mcp';
import { map } from 'rxjs';
import { PLATFORMS, type AdminBoot, type Platform } from './support/admin';
import { BadgeGuard, Badges, BadgesModule } from './support/badges';
import { bootMcp, connectTo, TOKEN, type McpApp } from './support/mcp';
import { refusedBoot } from './support/refused-boot';
import { allRows } from './support/rows';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

const RPC = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const BEARER = { authorization: `Bearer ${TOKEN}` };
const BADGE = { badge: 'let me in' };
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('the MCP module', () => {
  const suite = workflowSuite();
  const { sql } = suite;
  const apps: McpApp[] = [];
  beforeEach(() => sql('truncate workflows, workflow_steps, workflow_events, workflow_signals'));
  const boot = async (options: AdminBoot & { mcp?: WorkflowMcpOptions | null } = {}) => {
    const booted = await bootMcp(suite, options);
    apps.push(booted);
    return booted;
  };
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  /** One message by HTTP, without the SDK. */
  const send = (app: McpApp, message: unknown, headers: Record<string, string> = {}, path = '/mcp') =>
    app.send(path, {
      method: 'POST',
      headers: { ...RPC, ...headers },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });

  test.each<[string, () => unknown, RegExp]>([
    ['nothing', () => WorkflowMcpModule.forRoot({}), /there is no "token" and there are no "guards".*token: process\.env.*guards: \[YourAuthGuard\].*allowUnauthenticated: true/s],
    ['no guard', () => WorkflowMcpModule.forRoot({ guards: [], writeTools: true }), /there are no "guards"/],
    ['undefined', () => WorkflowMcpModule.forRoot(undefined as never), /there are no "guards"/],
    ['no object', () => WorkflowMcpModule.forRoot('x' as never), /the options are "x"; allowed: an object such as \{ guards: \[TokenGuard\] \}/],
    ['an unknown option', () => WorkflowMcpModule.forRoot({ tokens: [TOKEN] } as WorkflowMcpOptions), /no option "tokens"; there are: path, guards/],
    ['a class without canActivate', () => WorkflowMcpModule.forRoot({ guards: [class Badge {} as never] }), /"guards" is .*with a method canActivate/],
    ['a blank token', () => WorkflowMcpModule.forRoot({ token: '  ' }), /"token" is blank\. Allowed: 16 to/],
    ['an empty token', () => WorkflowMcpModule.forRoot({ token: '' }), /"token" is blank/],
    ['an environment variable that is not set', () => WorkflowMcpModule.forRoot({ token: undefined, allowUnauthenticated: true }), /"token" is undefined; is its environment variable set\?/],
    ['a token that is none', () => WorkflowMcpModule.forRoot({ token: null as never, guards: [BadgeGuard] }), /"token" is no text but null/],
    ['a token with spaces', () => WorkflowMcpModule.forRoot({ token: 'sixteen characters' }), /"token" is too long, or has spaces/],
    ['the root', () => WorkflowMcpModule.forRoot({ token: TOKEN, path: '' }), /"path" is ""/],
    ['a path with a parameter', () => WorkflowMcpModule.forRoot({ token: TOKEN, path: 'a/:b' }), /"path" is "a\/:b"/],
    ['writeTools as text', () => WorkflowMcpModule.forRoot({ token: TOKEN, writeTools: 'false' as never }), /"writeTools" is "false"; allowed: true, false/],
    ['allowPayloads as text', () => WorkflowMcpModule.forRoot({ token: TOKEN, allowPayloads: 1 as never }), /"allowPayloads" is 1; allowed: true, false/],
    ['a size that is none', () => WorkflowMcpModule.forRoot({ token: TOKEN, maxPayloadSize: 0.5 }), /"maxPayloadSize" is 0\.5; allowed: a whole number/],
    ['a callback that is none', () => WorkflowMcpModule.forRoot({ token: TOKEN, can: true as never }), /"can" is true; allowed: a function/],
    ['an origin with a path', () => WorkflowMcpModule.forRoot({ token: TOKEN, allowedOrigins: ['https://a.example/b'] }), /WorkflowMcpModule: "allowedOrigins" is "https:\/\/a\.example\/b"/],
    ['no factory', () => WorkflowMcpModule.forRootAsync({ guards: [BadgeGuard] }), /one of useFactory/],
    ['settings beside the factory', () => WorkflowMcpModule.forRootAsync({ useFactory: () => ({ token: TOKEN }), writeTools: true } as WorkflowMcpAsyncOptions), /no option "writeTools"/],
  ])('DEF-21 %s is refused, with what to do', (_what, wire, message) => {
    let error: Error | undefined;
    try {
      wire();
    } catch (thrown) {
      error = thrown as Error;
    }
    expect(error).toMatchObject({ code: 'WORKFLOW_CONFIGURATION', message: expect.stringMatching(message) });
  }); // prettier-ignore

  test('DEF-21 a token that is too short is in no message', () => {
    expect(() => WorkflowMcpModule.forRoot({ token: 'hunter2' })).toThrow(/"token" is too short/);
    expect(() => WorkflowMcpModule.forRoot({ token: 'hunter2' })).not.toThrow(/hunter2/);
  });

  test('DEF-21 what a factory leaves open, or returns too late, and a missing WorkflowModule, refuse the boot', async () => {
    const { url } = suite.database;
    const async = (useFactory: () => WorkflowMcpSettings) =>
      refusedBoot({ url, imports: [WorkflowMcpModule.forRootAsync({ useFactory })] });
    expect((await async(() => ({ writeTools: true }))).message).toMatch(
      /there is no "token" and there are no "guards"/,
    );
    expect((await async(() => ({ token: undefined }))).message).toMatch(/"token" is undefined/);
    expect((await async(() => ({ token: TOKEN, guards: [BadgeGuard] }) as never)).message).toMatch(
      /returned "guards"; set it beside useFactory/,
    );
    expect((await async(() => undefined as never)).message).toMatch(/the options are undefined/);
    const alone = await refusedBoot({ url, options: null, imports: [WorkflowMcpModule.forRoot({ token: TOKEN })] });
    expect(alone.message).toMatch(/needs WorkflowModule/);
  });

  test('MCP-16 open to everybody with the tools that act it boots, with a warning; behind anything, or reading alone, without', async () => {
    const warnings = async (mcp: WorkflowMcpOptions) => {
      const said: string[] = [];
      const logger: LoggerService = { log() {}, error() {}, warn: (message) => void said.push(String(message)) };
      const { connect } = await boot({ mcp, logger });
      if (mcp.allowUnauthenticated) await connect({ token: mcp.token ?? null });
      return said.filter((line) => line.includes('Mcp'));
    };
    expect(await warnings({ allowUnauthenticated: true, writeTools: true })).toEqual([
      expect.stringMatching(/writeTools and allowUnauthenticated: anyone who reaches it can change runs/),
    ]);
    expect(await warnings({ allowUnauthenticated: true })).toEqual([]);
    expect(await warnings({ token: TOKEN, writeTools: true })).toEqual([]);
    expect(await warnings({ token: TOKEN, allowUnauthenticated: true, writeTools: true })).toEqual([]);
    expect(await warnings({ guards: [BadgeGuard], imports: [BadgesModule], writeTools: true })).toEqual([]);
  });

  describe.each(PLATFORMS)('on %s', (platform: Platform) => {
    test('a wrong token, or none, is 401 with a challenge, whatever is asked; it is in no log', async () => {
      const logged: string[] = [];
      const keep = (...all: unknown[]) => void logged.push(all.map(String).join());
      const app = await boot({ platform, mcp: { writeTools: true }, logger: { log: keep, warn: keep, error: keep } });
      const before = await allRows(sql);
      const wrong = ['', 'Bearer', 'Bearer ', `Basic ${TOKEN}`, TOKEN, `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Bearer ${TOKEN} x`, `Bearer ${TOKEN.toUpperCase()}`]; // prettier-ignore
      for (const authorization of wrong) {
        const { status, headers, body, text } = await send(app, LIST, authorization ? { authorization } : {});
        expect([authorization, status]).toEqual([authorization, 401]);
        expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="workflows"/);
        expect(headers.get('cache-control')).toBe('no-store');
        expect(body).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 }, id: null });
        expect(text).not.toContain(TOKEN.slice(1));
      }
      for (const method of ['GET', 'DELETE', 'PUT']) {
        expect([method, (await app.send('/mcp', { method })).status]).toEqual([method, 401]);
      }
      expect((await send(app, '{"broken', {})).status).toBe(400);
      await expect(connectTo(app.url, { token: `${TOKEN}x` })).rejects.toThrow(/token is not the right one/);
      expect((await (await app.connect()).call('workflows')).body.runs).toEqual([]);
      expect((await send(app, LIST, { authorization: `bearer  ${TOKEN}` })).status).toBe(200);
      expect(logged.join('\n')).not.toContain(TOKEN);
      expect(await allRows(sql)).toEqual(before);
    });

    const guarded = { guards: [BadgeGuard], imports: [BadgesModule] };
    const wirings: [string, AdminBoot & { mcp: WorkflowMcpOptions | null }][] = [
      ['guards', { mcp: guarded }],
      ['guards and a token', { mcp: { ...guarded, token: TOKEN } }],
      ['a factory', { mcp: null, imports: [WorkflowMcpModule.forRootAsync({ ...guarded, inject: [Badges], useFactory: async ({ valid }: Badges) => ({ token: valid.size ? TOKEN : 'not-the-token-at-all' }) })] }],
      ['global guards', { mcp: { allowUnauthenticated: true }, imports: [BadgesModule], providers: [Scripted, { provide: APP_GUARD, useClass: BadgeGuard }] }],
    ]; // prettier-ignore
    test.each(wirings)('it lies behind the guards, which inject what they need: %s', async (wiring, options) => {
      const app = await boot({ ...options, platform });
      const token = wiring.includes('token') || wiring === 'a factory';
      expect((await send(app, LIST, BEARER)).status).toBe(401);
      expect((await send(app, LIST, { ...BEARER, badge: 'stolen' })).status).toBe(403);
      expect((await send(app, LIST, BADGE)).status).toBe(token ? 401 : 200);
      const { client } = await app.connect({ headers: BADGE, token: token ? TOKEN : null });
      expect((await client.listTools()).tools).toHaveLength(5);
    });

    test('there are no streams and no sessions to end: 405; the SDK takes it well', async () => {
      const app = await boot({ platform });
      for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
        const { status, headers, body } = await app.send('/mcp', { method, headers: { ...BEARER, accept: 'text/event-stream' } }); // prettier-ignore
        expect([method, status, headers.get('allow')]).toEqual([method, 405, 'POST']);
        expect(body).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 }, id: null });
      }
      const client = new Client({ name: 'ends its session', version: '1' });
      const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit: { headers: BEARER } }); // prettier-ignore
      await client.connect(transport);
      expect(transport.sessionId).toMatch(/^[\x21-\x7e]+$/);
      await transport.terminateSession();
      await client.ping();
      await client.close();
    });

    test('pages of browsers are refused unless their origin is named, even those that seem to be of this host', async () => {
      const app = await boot({
        platform,
        mcp: { allowUnauthenticated: true, allowedOrigins: ['http://localhost:6274'] },
      });
      const before = await allRows(sql);
      const { host } = new URL(app.url);
      const pages: Record<string, string>[] = [
        { origin: 'https://evil.example' },
        // A name of theirs that was made to lead here (DNS rebinding): to the browser all of it is one site.
        { origin: `http://${host}` },
        { origin: 'null' },
        { origin: 'http://localhost:6274.evil.example' },
        { 'sec-fetch-site': 'same-origin' },
        { 'sec-fetch-site': 'cross-site' },
      ];
      for (const headers of pages) {
        for (const method of ['POST', 'GET', 'DELETE']) {
          const { status, body } =
            method === 'POST' ? await send(app, LIST, headers) : await app.send('/mcp', { method, headers });
          expect([headers, method, status]).toEqual([headers, method, 403]);
          expect(body.error.message).toMatch(/"allowedOrigins" of WorkflowMcpModule/);
        }
      } // prettier-ignore
      expect(await allRows(sql)).toEqual(before);
      expect((await send(app, LIST, { origin: 'http://localhost:6274', 'sec-fetch-site': 'same-site' })).status).toBe(
        200,
      );
      expect((await send(app, LIST)).status).toBe(200);
    });

    test('malformed and oversize messages are refused as JSON-RPC has it, and change nothing', async () => {
      const app = await boot({ platform, mcp: { writeTools: true } });
      const run = await app.workflows.start(Scripted, script({}));
      const before = await allRows(sql);
      const cancel = { workflow_id: run.id, reason: 'x' };
      const call = (params: unknown, more: object = {}) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params, ...more }); // prettier-ignore
      const wrong: [string, unknown, number, number][] = [
        ['no version', { ...LIST, jsonrpc: '1.0' }, 400, -32700],
        ['no method', { jsonrpc: '2.0', id: 1 }, 400, -32700],
        ['an id that is none', { ...LIST, id: { a: 1 } }, 400, -32700],
        ['a text', '"hello"', 400, -32700],
        ['a number in a list', [7], 400, -32700],
        ['too many at once', Array.from({ length: 101 }, (_, id) => ({ ...LIST, id })), 400, -32600],
        ['a second key', call({ name: 'workflow_cancel', arguments: cancel }, { admin: true }), 400, -32700],
        ['an unknown method', { ...LIST, method: 'tools/destroy' }, 200, -32601],
        ['no tool', call({ arguments: cancel }), 200, -32602],
        ['a tool that is none', call({ name: { a: 1 }, arguments: cancel }), 200, -32602],
        ['arguments that are a list', call({ name: 'workflow_cancel', arguments: [cancel] }), 200, -32602],
        ['an empty list', [], 400, -32600],
        [
          'an id twice',
          [
            LIST,
            call({ name: 'workflow_cancel', arguments: cancel }),
            call({ name: 'workflow_cancel', arguments: cancel }),
          ],
          400,
          -32600,
        ],
        ['an unknown tool', call({ name: 'workflow_destroy', arguments: cancel }), 200, -32602],
      ];
      for (const [what, message, status, code] of wrong) {
        const answer = await send(app, message, BEARER);
        expect([what, answer.status, answer.body.error?.code]).toEqual([what, status, code]);
      }
      const broken = await send(app, '{"jsonrpc": "2.0", "secret": ', BEARER);
      expect([broken.status, broken.text.includes('secret')]).toEqual([400, false]);
      const large = await send(app, { ...LIST, params: { _meta: { x: 'x'.repeat(1_100_000) } } }, BEARER);
      expect([large.status, large.text.includes('xxx')]).toEqual([413, false]);
      // On Fastify these are answered by the platform, which looks at bodies before there is a route.
      const codes = { express: [-32700, -32000], fastify: [undefined, undefined] }[platform];
      expect([broken.body.error?.code, large.body.error?.code]).toEqual(codes);
      for (const headers of [{ accept: 'application/json' }, { 'mcp-protocol-version': '1999-01-01' }]) {
        expect([400, 406]).toContain((await send(app, LIST, { ...BEARER, ...(headers as object) })).status);
      }
      expect((await send(app, 'a=b', { ...BEARER, 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(
        415,
      );
      // Neither a notification nor an answer is anything to act on.
      const told = await send(app, { jsonrpc: '2.0', method: 'tools/call', params: { name: 'workflow_cancel', arguments: cancel } }, BEARER); // prettier-ignore
      expect([told.status, told.text]).toEqual([202, '']);
      expect(await allRows(sql)).toEqual(before);

      // A batch is answered as one, each by its id.
      const batch = await send(
        app,
        [
          { ...LIST, id: 'list' },
          call({ name: 'workflows', arguments: {} }, { id: 'runs' }),
          call({ name: 'workflow_cancel', arguments: { ...cancel, expected_status: 'paused' } }, { id: 'no' }),
        ],
        BEARER,
      );
      const byId = new Map(batch.body.map((one: any) => [one.id, one.result]));
      expect(byId.get('list')).toMatchObject({ tools: expect.any(Array) });
      expect(byId.get('runs')).toMatchObject({ structuredContent: { runs: [{ id: run.id }] } });
      expect(byId.get('no')).toMatchObject({ structuredContent: { ok: false } });
      expect(await allRows(sql)).toEqual(before);
    });

    test('whatever the application has set for all its routes, it answers the same; it is in no OpenAPI document', async () => {
      @Injectable()
      class Wrapped implements NestInterceptor {
        intercept(_context: ExecutionContext, next: CallHandler) {
          return next.handle().pipe(map((data) => ({ data, wrapped: true })));
        }
      }
      @Injectable()
      class Mangles implements PipeTransform {
        transform() {
          return { mangled: true };
        }
      }
      const app = await boot({
        platform,
        settings: (nest: INestApplication) => {
          nest.setGlobalPrefix('service');
          nest.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
          nest.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }), new Mangles());
          nest.useGlobalInterceptors(new Wrapped());
        },
        mcp: { path: 'agents/mcp', writeTools: true },
        // A second one, for those who only look.
        imports: [WorkflowMcpModule.forRoot({ path: 'mcp', token: `${TOKEN}-of-readers` })],
      }); // prettier-ignore
      const run = await app.workflows.start(Scripted, script({}));
      const operator = await app.connect({ path: '/service/agents/mcp' });
      const payload = { limit: '7', nested: { list: [{ a: 1 }] } };
      const signal = { workflow_id: run.id, reason: 'told by phone', name: 'hello', payload };
      expect((await operator.call('workflow_signal', signal)).body).toMatchObject({ ok: true });
      expect(await run.signals()).toMatchObject([{ payload }]);
      const reader = await app.connect({ path: '/service/mcp', token: `${TOKEN}-of-readers` });
      expect((await reader.client.listTools()).tools).toHaveLength(5);
      expect((await send(app, LIST, BEARER, '/service/mcp')).status).toBe(401);
      const document = SwaggerModule.createDocument(app.app, new DocumentBuilder().build());
      expect(Object.keys(document.paths).filter((path) => path.includes('mcp'))).toEqual([]);
    });
  });

  test('forRootAsync takes its settings from classes too', async () => {
    @Injectable()
    class Settings {
      constructor(@Inject(Badges) private readonly badges: Badges) {}
      createWorkflowMcpOptions = (): WorkflowMcpSettings => ({ token: `${[...this.badges.valid][0].replaceAll(' ', '-')}-please`, writeTools: true }); // prettier-ignore
    }
    @Module({ imports: [BadgesModule], providers: [Settings], exports: [Settings] })
    class SettingsModule {}
    const app = await boot({
      mcp: null,
      imports: [
        WorkflowMcpModule.forRootAsync({ path: 'one', imports: [BadgesModule], useClass: Settings }),
        WorkflowMcpModule.forRootAsync({ path: 'two', imports: [SettingsModule], useExisting: Settings }),
      ],
    });
    for (const path of ['/one', '/two']) {
      const { client } = await app.connect({ path, token: 'let-me-in-please' });
      expect((await client.listTools()).tools).toHaveLength(11);
      await expect(connectTo(app.url, { path, token: TOKEN })).rejects.toThrow(/token is not the right one/);
    }
  });

  test('where nobody parses bodies, it says so', async () => {
    const app = await boot({ bodyParser: false });
    const { status, body } = await send(app, LIST, BEARER);
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('bodyParser: false')]);
  });

  test('of an application in two processes either answers any request of a client', async () => {
    const [one, other] = [await boot(), await boot()];
    const session = (await connectTo(one.url)).client.transport!.sessionId!;
    expect((await send(other, LIST, { ...BEARER, 'mcp-session-id': session })).body.result.tools).toHaveLength(5);
  });
});
