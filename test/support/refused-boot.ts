import type { ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowModule, type WorkflowModuleOptions } from 'nestjs-pg-workflows';
import { DataSource, type DataSourceOptions } from 'typeorm';

export interface RefusedBoot extends ModuleMetadata {
  url: string;
  /** Of `WorkflowModule.forRoot`; null: the module is among `imports`. */
  options?: WorkflowModuleOptions | null;
  dataSource?: object;
}

/** Boots an application that must not come up: its error. Nothing is left of it. */
export async function refusedBoot({
  url,
  options = {},
  dataSource = {},
  imports = [],
  ...metadata
}: RefusedBoot): Promise<Error> {
  const opened: Promise<DataSource>[] = [];
  let module: TestingModule | undefined;
  try {
    module = await Test.createTestingModule({
      ...metadata,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({ type: 'postgres', url, autoLoadEntities: true, retryAttempts: 0, ...dataSource }),
          dataSourceFactory: (given) => {
            const opening = new DataSource(given as DataSourceOptions).initialize();
            opened.push(opening);
            return opening;
          },
        }),
        ...(options ? [WorkflowModule.forRoot({ worker: { pollInterval: 50 }, ...options })] : []),
        ...imports,
      ],
    }).compile();
    await module.init();
  } catch (error) {
    return error as Error;
  } finally {
    await module?.close().catch(() => undefined);
    // The boot may have failed while it was still connecting.
    for (const made of await Promise.all(opened)) if (made.isInitialized) await made.destroy();
  }
  throw new Error('The application came up');
}
