import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import type { INestApplication, LoggerService, Provider } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  WorkflowAdminModule,
  WorkflowModule,
  WorkflowService,
  type WorkflowAdminOptions,
  type WorkflowModuleOptions,
} from 'nestjs-pg-workflows';
import { Scripted } from './scripted';
import type { Suite } from './suite';

export const PLATFORMS = ['express', 'fastify'] as const;
export type Platform = (typeof PLATFORMS)[number];

export interface AdminBoot {
  platform?: Platform;
  /** Options of Fastify's adapter. */
  fastify?: ConstructorParameters<typeof FastifyAdapter>[0];
  /** Of `WorkflowAdminModule.forRoot`; null: the module is among `imports`. Default: everybody may, at `admin/workflows`. */
  admin?: WorkflowAdminOptions | null;
  workflow?: WorkflowModuleOptions;
  providers?: Provider[];
  imports?: NonNullable<Parameters<typeof Test.createTestingModule>[0]['imports']>;
  /** What `main.ts` would set. */
  settings?: (app: INestApplication) => void;
  override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  logger?: LoggerService;
  bodyParser?: boolean;
}

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of the answer's JSON. */
  readonly body: any;
}

export interface AdminApp {
  readonly app: INestApplication;
  readonly url: string;
  readonly workflows: WorkflowService;
  /** `GET <path>`, under `/admin/workflows/` unless it begins with a slash. */
  readonly get: (path: string, headers?: Record<string, string>) => Promise<AdminAnswer>;
  /** `POST <path>` with a JSON body. */
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<AdminAnswer>;
  readonly send: (path: string, init: RequestInit) => Promise<AdminAnswer>;
  readonly close: () => Promise<void>;
}

/** Nothing is said: a test that is about what is logged brings a logger along. */
export class Silent implements LoggerService {
  log(): void {}
  warn(): void {}
  error(message: unknown, ...more: unknown[]): void {
    if (process.env.DEBUG_TESTS) console.error(message, ...more);
  }
}

/** An application with the API, listening on 127.0.0.1, that executes nothing. It is for the caller to close. */
export async function bootAdmin(suite: Suite, boot: AdminBoot = {}): Promise<AdminApp> {
  const { platform = 'express', admin = { allowUnauthenticated: true }, workflow = { worker: false } } = boot;
  const { imports = [], providers = [Scripted], settings, override = (builder) => builder } = boot;
  const builder = Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: suite.database.url, autoLoadEntities: true, retryAttempts: 0 }),
      WorkflowModule.forRoot(workflow),
      ...(admin ? [WorkflowAdminModule.forRoot(admin)] : []),
      ...imports,
    ],
    providers,
  }).setLogger(boot.logger ?? new Silent());
  const module = await override(builder).compile();
  const adapter = platform === 'fastify' ? new FastifyAdapter(boot.fastify) : new ExpressAdapter();
  const app = module.createNestApplication(adapter, { bodyParser: boot.bodyParser ?? true });
  settings?.(app);
  await app.listen(0, '127.0.0.1');
  if (platform === 'fastify') await (app as NestFastifyApplication).getHttpAdapter().getInstance().ready();
  const url = await app.getUrl();
  const send = async (path: string, init: RequestInit): Promise<AdminAnswer> => {
    const response = await fetch(`${url}${path.startsWith('/') ? path : `/admin/workflows/${path}`}`, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: asJson(text) };
  };
  return {
    app,
    url,
    workflows: app.get(WorkflowService),
    send,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, body = {}, headers = {}) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    close: () => app.close(),
  };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
