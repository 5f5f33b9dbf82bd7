import { Injectable } from '@nestjs/common';
import { MoreThanOrEqual, type EntityManager } from 'typeorm';
import type { Order } from './order.entity';
import { Reservation, StockItem } from './stock.entity';

export class OutOfStock extends Error {}

@Injectable()
export class Stock {
  /** Two writes that belong together: call it in a transaction. */
  async reserve({ id, item, quantity }: Order, manager: EntityManager): Promise<StockItem> {
    const enough = { item, available: MoreThanOrEqual(quantity) };
    const { affected } = await manager.decrement(StockItem, enough, 'available', quantity);
    if (!affected) throw new OutOfStock(`fewer than ${quantity} of ${item} are left`);
    await manager.insert(Reservation, { orderId: id, item, quantity });
    return manager.findOneByOrFail(StockItem, { item });
  }

  /** New goods came in. */
  async receive(item: string, quantity: number, manager: EntityManager): Promise<void> {
    await manager.increment(StockItem, { item }, 'available', quantity);
  }

  /** Doing it twice is doing it once: the second time there is no reservation. */
  async release({ id, item, quantity }: Order, manager: EntityManager): Promise<void> {
    await manager.transaction(async (transaction) => {
      const { affected } = await transaction.delete(Reservation, { orderId: id });
      if (affected) await transaction.increment(StockItem, { item }, 'available', quantity);
    });
  }
}
