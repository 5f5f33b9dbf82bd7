import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { WorkflowRun, WorkflowService, type WorkflowHandle } from 'nestjs-pg-workflows';
import { DataSource, Repository } from 'typeorm';
import { Order } from './order.entity';
import { OrderWorkflow } from './order.workflow';
import type { PlaceOrder } from './place-order.dto';

@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly workflows: WorkflowService,
    @InjectRepository(WorkflowRun) private readonly runs: Repository<WorkflowRun>,
  ) {}

  /** The order and its run are written in one transaction: there is never one without the other. */
  place({ gift = false, ...values }: PlaceOrder): Promise<{ order: Order; run: WorkflowHandle }> {
    return this.dataSource.transaction(async (manager) => {
      const order = await manager.save(manager.create(Order, values));
      const run = await this.workflows.start(OrderWorkflow, {
        subject: order,
        args: { gift },
        actor: `customer:${order.customer}`,
        manager,
      });
      return { order, run };
    });
  }

  /** The newest run of this order, also when it has ended or the order is gone. */
  async runOf(orderId: number): Promise<WorkflowHandle> {
    const run = await this.runs.findOne({
      where: { subjectType: Order.name, subjectId: String(orderId) },
      order: { id: 'desc' },
    });
    if (!run) throw new NotFoundException(`There is no order ${orderId}.`);
    return this.workflows.find(run.id);
  }

  /** Deletes the order. Its run notices before its next step. */
  async erase(orderId: number): Promise<void> {
    const { affected } = await this.dataSource.manager.delete(Order, { id: orderId });
    if (!affected) throw new NotFoundException(`There is no order ${orderId}.`);
  }
}
