import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { WorkflowAdminModule, WorkflowModule } from 'nestjs-pg-workflows';
import { WorkflowMcpModule } from 'nestjs-pg-workflows/mcp';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { incidents } from './incidents';
import { DemoMigrations } from './migrations';
import { agentsToken } from './operators/agents-token';
import { OperatorsGuard, type OperatorsRequest } from './operators/operators.guard';
import { OrdersModule } from './orders/orders.module';
import { ReviewsModule } from './reviews/reviews.module';
import { WorkflowsController } from './workflows/workflows.controller';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...WorkflowMigrations, ...DemoMigrations],
      migrationsRun: true,
      retryAttempts: 0,
    }),
    // A deployment would set APP_REVISION; each attempt then says which revision ran it.
    WorkflowModule.forRoot({ errorReporter: incidents, appRevision: process.env.APP_REVISION ?? '2026.48.1' }),
    WorkflowAdminModule.forRoot({
      guards: [OperatorsGuard],
      actor: (request: OperatorsRequest) => request.operator,
      subjectUrl: (type, id) => (type === 'Order' ? `/orders/${id}/workflow` : null),
    }),
    // Agents read what operators read, and may act on single runs.
    WorkflowMcpModule.forRoot({ token: agentsToken, writeTools: true }),
    // `GET /metrics`: the package's metrics are in its registry, which is prom-client's default one.
    PrometheusModule.register(),
    OrdersModule,
    ReviewsModule,
  ],
  controllers: [WorkflowsController],
})
export class AppModule {}
