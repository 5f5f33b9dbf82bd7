import { NestApplicationContext } from '@nestjs/core';
import { DataSource } from 'typeorm';

/** What the application's DataSources did, or would have done. */
export interface DataSources {
  readonly opened: ReadonlySet<DataSource>;
  /** Those that run their migrations as the application boots. */
  readonly migrating: ReadonlySet<DataSource>;
}

/**
 * Has an application's objects made and its databases connected, and nothing set going: to look at a run must not start a scheduler, take a job from a queue,
 * or migrate a database. In this process Nest calls no life-cycle hook (`onModuleInit`, `onApplicationBootstrap`), which is where applications start things;
 * constructors and provider factories do run.
 *
 * @param failed told of the first DataSource that cannot be opened: TypeOrmModule would try for half a minute
 */
export function quietNest(failed: (error: unknown, dataSource: DataSource) => void): DataSources {
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
      failed(error, this);
      throw error;
    }
  };
  sources.runMigrations = function migrate(this: DataSource) {
    migrating.add(this);
    return Promise.resolve([]);
  };
  sources.synchronize = () => Promise.resolve();
  sources.dropDatabase = () => Promise.resolve();
  return { opened, migrating };
}
