import { Module } from '@nestjs/common';
import { WorkflowAdminModule } from 'nestjs-pg-workflows';
import { WorkflowMcpModule } from 'nestjs-pg-workflows/mcp';
import { GreetingController } from './greeting.controller.js';
import { GreetingWorkflow, Letterbox } from './greeting.workflow.js';

@Module({
  imports: [
    WorkflowAdminModule.forRoot({ allowUnauthenticated: true }),
    WorkflowMcpModule.forRoot({ token: 'a-token-for-agents' }),
  ],
  controllers: [GreetingController],
  providers: [GreetingWorkflow, Letterbox],
})
export class GreetingModule {}
