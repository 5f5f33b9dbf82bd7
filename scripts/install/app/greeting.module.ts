import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowAdminModule, WorkflowModule } from 'nestjs-pg-workflows';
import { WorkflowMcpModule } from 'nestjs-pg-workflows/mcp';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { GreetingController } from './greeting.controller.js';
import { GreetingWorkflow, Letterbox } from './greeting.workflow.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations],
      migrationsRun: true,
      retryAttempts: 0,
    }),
    WorkflowModule.forRoot(),
    WorkflowAdminModule.forRoot({ allowUnauthenticated: true }),
    WorkflowMcpModule.forRoot({ token: 'a-token-for-agents' }),
  ],
  controllers: [GreetingController],
  providers: [GreetingWorkflow, Letterbox],
})
export class GreetingModule {}
