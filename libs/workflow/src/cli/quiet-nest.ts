import { NestApplicationContext, NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';

/** Nest as the tool has it, and what the application's DataSources did, or would have done. */
export interface QuietNest {
  readonly create: typeof NestFactory.createApplicationContext;
  readonly opened: ReadonlySet<DataSource>;
  /** Those that run their migrations as the application boots. */
  readonly migrating: ReadonlySet<DataSource>;
}

/**
 * Has an application's objects made and its databases connected, and nothing set going: to look at a run must not start a scheduler, take a job from a queue,
 * or migrate a database. In this process Nest calls no life-cycle hook (`onModuleInit`, `onApplicationBootstrap`), which is where applications start things;
 * constructors and provider factories do run. Nor does the application's code get an application from `NestFactory`: the file that was named may be the one
 * that starts it. To be called before any of its code is loaded.
 *
 * @param heard.away told of the first DataSource that cannot be opened: TypeOrmModule would try for half a minute
 * @param heard.starts told which method of `NestFactory` the application's code called; its promise is never settled
 */
export function quietNest(heard: {
  readonly away: (error: unknown, dataSource: DataSource) => void;
  readonly starts: (method: string) => void;
}): QuietNest {
  const create = NestFactory.createApplicationContext.bind(NestFactory);
  for (const method of ['create', 'createMicroservice', 'createApplicationContext'] as const) {
    NestFactory[method] = () => {
      heard.starts(method);
      return new Promise<never>(() => undefined);
    };
  }

  const context = NestApplicationContext.prototype;
  context.init = function init(this: NestApplicationContext) {
    return Promise.resolve(this);
  } as typeof context.init;

  const opened = new Set<DataSource>();
  const migrating = new Set<DataSource>();
  const sources = DataSource.prototype;
  // eslint-disable-next-line typescript/unbound-method -- it is called on a DataSource below
  const { initialize } = sources;
  sources.initialize = async function open(this: DataSource) {
    opened.add(this);
    try {
      return await initialize.call(this);
    } catch (error) {
      heard.away(error, this);
      throw error;
    }
  };
  sources.runMigrations = function migrate(this: DataSource) {
    migrating.add(this);
    return Promise.resolve([]);
  };
  sources.synchronize = () => Promise.resolve();
  sources.dropDatabase = () => Promise.resolve();
  return { create, opened, migrating };
}
