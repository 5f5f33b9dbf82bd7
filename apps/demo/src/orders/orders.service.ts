import { Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { NotOngoingError, WorkflowRun, WorkflowService, type WorkflowHandle } from 'nestjs-pg-workflows';
import { DataSource, Repository } from 'typeorm';
import type { CancelOrder } from './cancel-order.dto';
import { Order } from './order.entity';
import { OrderWorkflow } from './order.workflow';
import { PaymentConfirmed } from './payment-confirmed';
import type { PaymentEvent } from './payment-event.dto';
import type { PlaceOrder } from './place-order.dto';
import { Stock } from './stock';

/** What became of the bank's message. */
export interface PaymentAnswer {
  readonly outcome: 'the order goes on' | 'kept until the order asks' | 'delivered before' | 'too late';
  readonly workflow: string;
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly workflows: WorkflowService,
    private readonly stock: Stock,
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

  /**
   * Tells the order's run. Whether it waits already, or will later, is not our concern: a signal that comes early is kept. The bank
   * delivers at least once, and the id of its event is the idempotency key: the second time changes nothing.
   */
  async paymentConfirmed({ event, orderId, amount }: PaymentEvent): Promise<PaymentAnswer> {
    const run = await this.runOf(orderId);
    try {
      const payment = { amount, reference: event };
      const signal = await run.signal(PaymentConfirmed, payment, { idempotencyKey: event, actor: 'bank' });
      if (signal.duplicateDelivery) return { outcome: 'delivered before', workflow: run.id };
      const outcome = signal.status === 'claimed' ? 'the order goes on' : 'kept until the order asks';
      return { outcome, workflow: run.id };
    } catch (error) {
      if (!(error instanceof NotOngoingError)) throw error;
      return { outcome: 'too late', workflow: run.id };
    }
  }

  /** The run ends and the goods are free again, in one transaction. Whoever does it is on the run's audit trail. */
  async cancel(orderId: number, { actor, reason }: CancelOrder): Promise<void> {
    const run = await this.runOf(orderId);
    await this.dataSource.transaction(async (manager) => {
      await run.cancel({ actor, reason, manager });
      const order = await manager.findOneBy(Order, { id: orderId });
      if (order) await this.stock.release(order, manager);
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
