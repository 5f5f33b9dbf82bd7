import { Inject, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Step,
  Workflow,
  WorkflowConfigurationError,
  WorkflowModule,
  WorkflowOf,
  WorkflowService,
  type Ctx,
  type ErrorContext,
  type ErrorReporter,
  type WorkflowModuleAsyncOptions,
  type WorkflowModuleOptions,
  type WorkflowOptionsFactory,
} from 'nestjs-pg-workflows';
import { refusedBoot } from './support/refused-boot';
import { workflowSuite } from './support/suite';

const ran: string[] = [];

@Injectable()
class Mailer {
  readonly from: string = 'mailer';
}

@Workflow()
class Welcome extends WorkflowOf {
  constructor(readonly mailer: Mailer) {
    super();
  }

  @Step()
  async send(ctx: Ctx<this>) {
    ran.push(`${ctx.workflowName} by ${this.mailer.from}`);
  }
}

/** Stands in for it, without a @Workflow() of its own. */
class QuietWelcome extends Welcome {
  override async send() {
    ran.push('quiet');
  }
}

@Workflow({ name: 'LoudWelcome' })
class LoudWelcome extends Welcome {}

@Workflow()
class Fails extends WorkflowOf {
  @Step({ jobOptions: { wait: 0 } })
  async fail() {
    throw new Error('failed');
  }
}

/** What an application would have a configuration service for. */
@Injectable()
class Config {
  readonly queue = 'configured';
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

@Injectable()
class Reporter implements ErrorReporter {
  readonly told: ErrorContext[] = [];

  report(_error: unknown, context: ErrorContext) {
    this.told.push(context);
  }
}

@Module({ providers: [Reporter], exports: [Reporter] })
class ReporterModule {}

@Injectable()
class OptionsFactory implements WorkflowOptionsFactory {
  constructor(@Inject(Config) private readonly config: Config) {}

  async createWorkflowOptions(): Promise<WorkflowModuleOptions> {
    await Promise.resolve();
    return { queue: this.config.queue, worker: { pollInterval: 50 } };
  }
}

@Module({ imports: [ConfigModule], providers: [OptionsFactory], exports: [OptionsFactory] })
class OptionsModule {}

describe('how classes and settings are provided', () => {
  const suite = workflowSuite();

  beforeEach(async () => {
    ran.length = 0;
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test.each([
    ['the class', [Welcome], 'Welcome by mailer'],
    ['useClass', [{ provide: 'WELCOME', useClass: Welcome }], 'Welcome by mailer'],
    [
      'useFactory',
      [{ provide: 'WELCOME', inject: [Mailer], useFactory: (mailer: Mailer) => new Welcome(mailer) }],
      'Welcome by mailer',
    ],
    [
      'an asynchronous useFactory',
      [
        {
          provide: Welcome,
          inject: [Mailer],
          useFactory: async (mailer: Mailer) => Promise.resolve(new Welcome(mailer)),
        },
      ],
      'Welcome by mailer',
    ],
    ['useValue', [{ provide: 'WELCOME', useValue: new Welcome({ from: 'a value' }) }], 'Welcome by a value'],
    [
      'useExisting',
      [{ provide: 'FIRST', useExisting: Welcome }, Welcome, { provide: 'ALIAS', useExisting: Welcome }],
      'Welcome by mailer',
    ],
    ["a subclass in the class's place", [{ provide: Welcome, useClass: QuietWelcome }], 'quiet'],
    [
      'an instance of a subclass in its place',
      [{ provide: Welcome, useValue: new QuietWelcome({ from: '' }) }],
      'quiet',
    ],
    [
      'a subclass that is a workflow itself, beside it',
      [Welcome, { provide: 'LOUD', useClass: LoudWelcome }],
      'Welcome by mailer',
    ],
  ])('DEF-19 a workflow class is found as %s', async (_how, providers, line) => {
    const { workflows } = await suite.boot([Mailer, ...providers]);
    await suite.until(await workflows.start(Welcome), 'finished');
    expect(ran).toEqual([line]);
  });

  test("DEF-19 a value in the class's place that is none is not run for it", async () => {
    const { workflows } = await suite.boot([{ provide: Welcome, useValue: { send: () => ran.push('mock') } }]);
    await expect(workflows.start(Welcome)).rejects.toThrow(/Welcome is not loaded/);
  });

  test.each<[how: string, options: WorkflowModuleAsyncOptions]>([
    [
      'useFactory',
      {
        imports: [ConfigModule],
        inject: [Config],
        useFactory: async (config: Config) => Promise.resolve({ queue: config.queue, worker: { pollInterval: 50 } }),
      },
    ],
    ['useClass', { imports: [ConfigModule], useClass: OptionsFactory }],
    ['useExisting', { imports: [OptionsModule], useExisting: OptionsFactory }],
  ])('DEF-20 forRootAsync with %s', async (_how, options) => {
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: suite.database.url, autoLoadEntities: true, retryAttempts: 0 }),
        WorkflowModule.forRootAsync(options),
      ],
      providers: [Mailer, Welcome],
    }).compile();
    const app = await module.init();
    const run = await app.get(WorkflowService).start(Welcome);
    await suite.until(run, 'finished');
    expect((await run.steps())[0]).toMatchObject({ queue: 'configured' });
    await app.close();
  });

  test('DEF-20 forRootAsync: an error reporter that Nest makes, and a connection named beside the factory', async () => {
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({
          name: 'flows',
          type: 'postgres',
          url: suite.database.url,
          autoLoadEntities: true,
          retryAttempts: 0,
        }),
        WorkflowModule.forRootAsync({
          connection: 'flows',
          imports: [ReporterModule],
          inject: [Reporter],
          useFactory: (errorReporter: Reporter) => ({ errorReporter, worker: { pollInterval: 50 } }),
        }),
        ReporterModule,
      ],
      providers: [Fails],
    }).compile();
    const app = await module.init();
    const run = await app.get(WorkflowService).start(Fails);
    await suite.until(run, 'paused');
    await suite.eventually(() => app.get(Reporter, { strict: false }).told.length === 1, 'the reporter was told');
    expect(app.get(Reporter, { strict: false }).told).toEqual([
      { workflowClass: 'Fails', workflowId: run.id, stepName: 'fail', attempt: 1, outcome: 'paused' },
    ]);
    await app.close();
  });

  test('DEF-20 forRootAsync that cannot be right is a WorkflowConfigurationError', async () => {
    expect(() => WorkflowModule.forRootAsync({})).toThrow(WorkflowConfigurationError);
    const moved = await refusedBoot({
      url: suite.database.url,
      options: null,
      imports: [WorkflowModule.forRootAsync({ useFactory: () => ({ connection: 'elsewhere' }) })],
    });
    expect(moved).toBeInstanceOf(WorkflowConfigurationError);
    expect(moved.message).toMatch(/"connection" "elsewhere"; set it beside useFactory/);
  });
});
