import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { WorkflowService } from 'nestjs-pg-workflows';
import { GreetingWorkflow } from './greeting.workflow.js';
// `nest generate` has made it.
import { OrderWorkflow } from './order/order.workflow.js';

@Controller('greetings')
export class GreetingController {
  constructor(private readonly workflows: WorkflowService) {}

  @Post()
  async start(@Body() body: { name: string }) {
    const run = await this.workflows.start(GreetingWorkflow, { args: { name: body.name, since: new Date(0) } });
    return { id: run.id };
  }

  @Post('orders')
  async order(@Body() body: { name: string }) {
    const run = await this.workflows.start(OrderWorkflow, { args: { title: body.name } });
    return { id: run.id };
  }

  @Get(':id')
  async show(@Param('id') id: string) {
    const run = await this.workflows.find(id);
    return { status: run.status, events: (await run.events()).map((event) => event.name) };
  }
}
