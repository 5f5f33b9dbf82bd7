import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowModule } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from 'nestjs-pg-workflows/migrations';
import { incidents } from './incidents';
import { DemoMigrations } from './migrations';
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
    WorkflowModule.forRoot({ errorReporter: incidents }),
    OrdersModule,
    ReviewsModule,
  ],
  controllers: [WorkflowsController],
})
export class AppModule {}
