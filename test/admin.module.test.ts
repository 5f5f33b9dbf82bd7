import { connect } from 'node:http2';
import {
  ClassSerializerInterceptor,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Scope,
  ValidationPipe,
  VersioningType,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type LoggerService,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, APP_PIPE, Reflector } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import {
  WorkflowAdminModule,
  WorkflowModule,
  type WorkflowAdminAsyncOptions,
  type WorkflowAdminCallbacks,
  type WorkflowAdminOptions,
} from 'nestjs-pg-workflows';
import { map } from 'rxjs';
import { DataSource } from 'typeorm';
import { bootAdmin, PLATFORMS, type AdminApp, type AdminBoot } from './support/admin';
import { BadgeGuard, BadgesModule } from './support/badges';
import { holdRuns } from './support/locks';
import { refusedBoot } from './support/refused-boot';
import { allRows } from './support/rows';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

@Injectable({ scope: Scope.REQUEST })
class PerRequestGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest().headers['x-floor'] !== 'basement';
  }
}

const BADGE = { badge: 'let me in' };

/** Every route, and paths that are none. */
const ROUTES: [string, string][] = [
  ...['runs', 'runs/ID', 'runs/ID/events', 'attention', 'definitions', 'definitions/Scripted', 'summary', '', 'nothing', 'runs/ID/nothing', 'a/b/c/d'].map(
    (path): [string, string] => ['GET', path],
  ),
  ...['pause', 'resume', 'resume-at', 'run-now', 'reschedule', 'skip', 'signal', 'rerun', 'cancel'].map((verb): [string, string] => ['POST', `runs/ID/${verb}`]),
  ['POST', 'attention/resume'],
  ['POST', 'attention/cancel'],
  ['DELETE', 'runs/ID'],
]; // prettier-ignore

describe('the admin module', () => {
  const suite = workflowSuite();
  const { sql } = suite;
  const apps: AdminApp[] = [];
  const boot = async (options: AdminBoot) => {
    const booted = await bootAdmin(suite, options);
    apps.push(booted);
    return booted;
  };
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  test.each<[string, () => unknown, RegExp]>([
    ['nothing', () => WorkflowAdminModule.forRoot({}), /there are no "guards".*guards: \[YourAuthGuard\].*allowUnauthenticated: true/s],
    ['no guard', () => WorkflowAdminModule.forRoot({ guards: [] }), /there are no "guards"/],
    ['nothing, asynchronously', () => WorkflowAdminModule.forRootAsync({ useFactory: () => ({}) }), /there are no "guards"/],
    ['nothing, in the short form', () => WorkflowModule.forRoot({ admin: {} }), /there are no "guards"/],
    ['undefined', () => WorkflowAdminModule.forRoot(undefined as never), /there are no "guards"/],
    ['no object', () => WorkflowAdminModule.forRoot('x' as never), /the options are "x"/],
    ['an unknown option', () => WorkflowAdminModule.forRoot({ guard: [BadgeGuard] } as WorkflowAdminOptions), /no option "guard"; there are: path, guards/],
    ['a function that makes guards, and is none', () => WorkflowAdminModule.forRoot({ guards: [(() => BadgeGuard) as never] }), /"guards" is .*with a method canActivate/],
    ['a class without canActivate', () => WorkflowAdminModule.forRoot({ guards: [class Badge {} as never] }), /"guards" is .*with a method canActivate/],
    ['a path that nobody can ask for', () => WorkflowAdminModule.forRoot({ guards: [BadgeGuard], path: 'admin/..' }), /"path" is/],
    ['no options at all', () => WorkflowAdminModule.forRootAsync(undefined as never), /the options are undefined/],
    ['a guard that is a word', () => WorkflowAdminModule.forRoot({ guards: ['jwt' as never] }), /"guards" is/],
    ['allowUnauthenticated as text', () => WorkflowAdminModule.forRoot({ allowUnauthenticated: 'false' as never }), /"allowUnauthenticated" is "false"; allowed: true, false/],
    ['a path with a parameter', () => WorkflowAdminModule.forRoot({ guards: [BadgeGuard], path: 'a/:b' }), /"path" is "a\/:b"/],
    ['a callback that is none', () => WorkflowAdminModule.forRoot({ guards: [BadgeGuard], can: true as never }), /"can" is true; allowed: a function/],
    ['an origin with a path', () => WorkflowAdminModule.forRoot({ guards: [BadgeGuard], allowedOrigins: ['https://a.example/b'] }), /"allowedOrigins" is "https:\/\/a\.example\/b"/],
    ['no factory', () => WorkflowAdminModule.forRootAsync({ guards: [BadgeGuard] }), /one of useFactory/],
    ['callbacks beside the factory', () => WorkflowAdminModule.forRootAsync({ guards: [BadgeGuard], useFactory: () => ({}), can: () => true } as WorkflowAdminAsyncOptions), /no option "can"/],
  ])('DEF-21 %s is refused, with what to do', (_what, wire, message) => {
    let error: Error | undefined;
    try {
      wire();
    } catch (thrown) {
      error = thrown as Error;
    }
    expect(error).toMatchObject({ code: 'WORKFLOW_CONFIGURATION', message: expect.stringMatching(message) });
  }); // prettier-ignore

  test('DEF-21 what a factory returns too late, and a missing WorkflowModule, refuse the boot', async () => {
    const { url } = suite.database;
    const async = (useFactory: () => WorkflowAdminCallbacks) =>
      refusedBoot({ url, imports: [WorkflowAdminModule.forRootAsync({ allowUnauthenticated: true, useFactory })] });
    expect((await async(() => ({ guards: [BadgeGuard] }) as never)).message).toMatch(
      /returned "guards"; set it beside useFactory/,
    );
    expect((await async(() => undefined as never)).message).toMatch(/the options are undefined/);
    expect((await async(() => ({ actor: 7 }) as never)).message).toMatch(/"actor" is 7; allowed: a function/);
    const admin = { allowUnauthenticated: true };
    const late = WorkflowModule.forRootAsync({ useFactory: () => ({ admin }) });
    expect((await refusedBoot({ url, options: null, imports: [late] })).message).toMatch(
      /returned "admin"; set it beside useFactory/,
    );
    const alone = await refusedBoot({
      url,
      options: null,
      imports: [WorkflowAdminModule.forRoot({ allowUnauthenticated: true })],
    });
    expect(alone.message).toMatch(/needs WorkflowModule/);
  });

  describe.each(PLATFORMS)('on %s', (platform) => {
    const guarded = { guards: [BadgeGuard, PerRequestGuard], imports: [BadgesModule] };
    const wirings: [string, AdminBoot][] = [
      ['forRoot', { admin: guarded }],
      ['the short form', { admin: null, workflow: { worker: false, admin: guarded } }],
      ['global guards', { admin: { allowUnauthenticated: true }, imports: [BadgesModule], providers: [Scripted, { provide: APP_GUARD, useClass: BadgeGuard }, { provide: APP_GUARD, useClass: PerRequestGuard }] }],
    ]; // prettier-ignore

    test.each(wirings)('DASH-20 every route lies behind the guards: %s', async (wiring, options) => {
      const { send, get } = await boot({ ...options, platform });
      const before = await allRows(sql);
      // Global guards are asked before the module is.
      const caching = wiring === 'global guards' ? null : 'no-store';
      for (const [method, path] of ROUTES) {
        const ask = (headers: Record<string, string>) =>
          send(`api${path && '/'}${path.replace('ID', '01890000-0000-7000-8000-000000000000')}`, {
            method,
            headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
            ...(method === 'POST' && { body: '{"unknown": 1}' }),
          });
        expect([path, (await ask({})).status]).toEqual([path, 401]);
        const refused = await ask({ badge: 'stolen' });
        expect([path, refused.status]).toEqual([path, 403]);
        expect([path, wiring, refused.headers.get('cache-control')]).toEqual([path, wiring, caching]);
        expect([path, (await ask({ ...BADGE, 'x-floor': 'basement' })).status]).toEqual([path, 403]);
        expect([path, [200, 400, 404].includes((await ask(BADGE)).status)]).toEqual([path, true]);
      }
      expect(await allRows(sql)).toEqual(before);
      expect((await get('api/runs', BADGE)).status).toBe(200);
    });

    test('whatever the application has set for all its routes, these answer the same', async () => {
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
      @Controller()
      class Other {
        @Get('other')
        other() {
          return { mine: true };
        }
      }
      @Module({ controllers: [Other] })
      class OtherModule {}
      const settings = (app: INestApplication) => {
        app.setGlobalPrefix('service');
        app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
        app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true }), new Mangles());
        app.useGlobalInterceptors(new Wrapped(), new ClassSerializerInterceptor(app.get(Reflector), { strategy: 'excludeAll' }));
        app.useGlobalFilters({ catch: () => { throw new Error('the filter of the application was asked'); } });
      }; // prettier-ignore
      const { get, post, workflows } = await boot({
        platform,
        settings,
        imports: [OtherModule],
        providers: [Scripted, { provide: APP_PIPE, useClass: Mangles }],
      });
      expect((await get('/service/v1/other')).body).toMatchObject({ wrapped: true });
      const at = '/service/admin/workflows/api';
      const run = await workflows.start(Scripted, script({}));
      expect((await get(`${at}/runs?id=${run.id}&limit=1`)).body).toMatchObject({
        runs: [{ id: run.id, status: 'ready' }],
        next_cursor: null,
      });
      expect(await get(`${at}/runs?limit=zero`)).toMatchObject({ status: 400, body: { field: 'limit' } });
      expect(await get(`${at}/nothing`)).toMatchObject({ status: 404, body: { code: 'NO_SUCH_ROUTE' } });
      const signal = { name: 'hello', payload: { limit: '7', nested: { list: [{ a: 1 }] } } };
      expect((await post(`${at}/runs/${run.id}/signal`, signal)).body).toMatchObject({
        ok: true,
        run: { signals: [{ payload: signal.payload }] },
      });
      expect(await post(`${at}/runs/${run.id}/pause`, { expected_status: 'paused' })).toMatchObject({
        status: 409,
        body: { ok: false, run: { status: 'ready' } },
      });
      expect(await post(`${at}/runs/${run.id}/pause`, { extra: 1 })).toMatchObject({
        status: 400,
        body: { field: 'extra' },
      });
    });

    test('the OpenAPI document has the routes with what they take', async () => {
      const { app } = await boot({ platform });
      const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      const at = '/admin/workflows/api';
      expect(Object.entries(document.paths).map(([path, of]) => `${Object.keys(of).join()} ${path.replace(at, '')}`).toSorted()).toEqual([
        'get /attention', 'get /definitions', 'get /definitions/{class}', 'get /runs', 'get /runs/{id}', 'get /runs/{id}/events', 'get /summary',
        'post /attention/cancel', 'post /attention/resume',
        ...['cancel', 'pause', 'rerun', 'reschedule', 'resume', 'resume-at', 'run-now', 'signal', 'skip'].map((verb) => `post /runs/{id}/${verb}`),
      ]); // prettier-ignore
      const { parameters } = document.paths[`${at}/runs`].get!;
      expect(new Set(parameters!.map((one: any) => one.name))).toEqual(new Set(
        ['class', 'created_from', 'created_to', 'cursor', 'ended_from', 'ended_to', 'error_class', 'id', 'limit', 'state', 'step', 'stuck_reason', 'subject_id', 'subject_type'])); // prettier-ignore
      const schemas = document.components!.schemas as Record<string, any>;
      expect(schemas.SignalBody).toMatchObject({
        required: ['name'],
        properties: {
          payload: { type: 'object' },
          reason: {},
          expected_status: { enum: expect.arrayContaining(['paused']) },
        },
      });
      expect(document.paths[`${at}/runs/{id}/signal`].post).toMatchObject({
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/SignalBody' } } } },
        responses: { 200: {}, 400: {}, 403: {}, 404: {}, 409: {}, 415: {} },
      });
    });

    test('what nobody expected is a 500 without a word of what it was; the log has it, without payloads', async () => {
      const logged: string[] = [];
      const logger: LoggerService = {
        log() {},
        warn() {},
        error: (...all: unknown[]) => void logged.push(all.join('\n')),
      };
      const admin = await boot({
        platform,
        logger,
        admin: { allowUnauthenticated: true, actor: () => Promise.reject(new TypeError('secret of the house')) },
      });
      const run = await admin.workflows.start(Scripted, script({}));
      const { status, body } = await admin.post(`api/runs/${run.id}/signal`, { name: 'x', payload: { card: '4111' } });
      expect([status, body]).toEqual([
        500,
        { statusCode: 500, code: 'INTERNAL_ERROR', message: expect.not.stringContaining('secret') },
      ]);
      expect(logged.join('\n')).toContain('TypeError: secret of the house');
      expect(logged.join('\n')).not.toContain('4111');
      expect(await run.signals()).toEqual([]);
      await admin.app.get(DataSource).destroy();
      const down = await admin.get('api/summary');
      expect([down.status >= 500, down.body.code]).toEqual([
        true,
        expect.stringMatching(/^(UNAVAILABLE|INTERNAL_ERROR)$/),
      ]);
    });
  });

  test('forRootAsync takes its callbacks from other providers', async () => {
    @Injectable()
    class Names {
      readonly of = 'the night shift';
    }
    @Module({ providers: [Names], exports: [Names] })
    class NamesModule {}
    class Callbacks {
      constructor(@Inject(Names) private readonly names: Names) {}
      createWorkflowAdminOptions = (): WorkflowAdminCallbacks => ({ actor: () => this.names.of });
    }
    const ways: [string, Partial<WorkflowAdminAsyncOptions>][] = [
      ['one', { inject: [Names], useFactory: async (names: Names) => ({ actor: () => names.of }) }],
      ['two', { useClass: Callbacks }],
    ];
    const admin = await boot({
      admin: null,
      imports: ways.map(([path, way]) =>
        WorkflowAdminModule.forRootAsync({ path, allowUnauthenticated: true, imports: [NamesModule], ...way }),
      ),
    });
    for (const [path] of ways) {
      const run = await admin.workflows.start(Scripted, script({}));
      expect((await admin.post(`/${path}/api/runs/${run.id}/pause`)).status).toBe(200);
      expect((await run.events()).at(-1)).toMatchObject({ name: 'paused', actor: 'dashboard:the night shift' });
    }
  });

  test('allowedOrigins, and a proxy that the application trusts, widen what counts as its own site', async () => {
    const admin = await boot({
      admin: { allowUnauthenticated: true, allowedOrigins: ['https://ops.example'] },
      settings: (app) =>
        (app.getHttpAdapter().getInstance() as { set(name: string, value: unknown): void }).set(
          'trust proxy',
          'loopback',
        ),
    });
    const ask = async (headers: Record<string, string>) => {
      const run = await admin.workflows.start(Scripted, script({}));
      return (await admin.post(`api/runs/${run.id}/cancel`, {}, headers)).status;
    };
    expect(await ask({ origin: 'https://ops.example', 'sec-fetch-site': 'cross-site' })).toBe(200);
    expect(await ask({ origin: 'https://shop.example', 'x-forwarded-host': 'shop.example' })).toBe(200);
    expect(await ask({ origin: 'https://shop.example:443', 'x-forwarded-host': 'shop.example' })).toBe(200);
    expect(await ask({ origin: 'https://evil.example', 'x-forwarded-host': 'shop.example' })).toBe(403);
  });

  test('over HTTP/2, which says no length, a body is taken', async () => {
    const admin = await boot({ platform: 'fastify', fastify: { http2: true } as never });
    const run = await admin.workflows.start(Scripted, script({}));
    const session = connect(admin.url);
    try {
      const status = await new Promise<unknown>((resolve, reject) => {
        session.on('error', reject);
        const asked = session.request({
          ':method': 'POST',
          ':path': `/admin/workflows/api/runs/${run.id}/pause`,
          'content-type': 'application/json',
        });
        asked.on('response', (headers) => resolve(headers[':status'])).on('error', reject);
        asked.resume().end('{}');
      });
      expect([status, (await run.reload()).status]).toEqual([200, 'paused']);
    } finally {
      session.destroy();
    }
  });

  test('where nobody parses bodies, a verb says so instead of acting without what was said', async () => {
    const admin = await boot({ bodyParser: false });
    const run = await admin.workflows.start(Scripted, script({}));
    const { status, body } = await admin.post(`api/runs/${run.id}/cancel`, { expected_status: 'paused' });
    expect([status, body.message]).toEqual([400, expect.stringContaining('bodyParser: false')]);
    expect((await run.reload()).status).toBe('ready');
  });

  test('AMB-29 a run that somebody holds is not waited for without end', async () => {
    const admin = await boot({});
    const run = await admin.workflows.start(Scripted, script({}));
    const held = await holdRuns(suite, [run.id]);
    expect(await admin.post(`api/runs/${run.id}/cancel`)).toMatchObject({
      status: 409,
      body: { ok: false, code: 'LOCK_TIMEOUT', run: { status: 'ready' } },
    });
    await held.release();
    expect((await admin.post(`api/runs/${run.id}/cancel`)).status).toBe(200);
  });
});

// Guards are classes: a type, so that a test says it.
void (BadgeGuard satisfies Type<CanActivate>);
