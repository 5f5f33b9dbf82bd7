import { join } from 'node:path';
import type { TypeOrmModuleOptions } from '@nestjs/typeorm';

// What an application with TypeORM has before `nest add`: it finds its migrations by a glob.
export const database: TypeOrmModuleOptions = {
  type: 'postgres',
  url: process.env.DATABASE_URL,
  autoLoadEntities: true,
  migrations: [join(__dirname, 'migrations', '*{.ts,.js}')],
  migrationsRun: true,
};
