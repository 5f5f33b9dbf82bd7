import { DataSource } from 'typeorm';
import { Stock } from '../orders/stock';
import type { Scene } from './scene';
import { say } from './voice';

export const DELIVERED = { item: 'samovar', quantity: 5 };

/** What was sold out comes in: the order that looked for it again and again finds it. */
export async function receiveGoods({ app }: Scene): Promise<void> {
  const { item, quantity } = DELIVERED;
  await app.get(Stock, { strict: false }).receive(item, quantity, app.get(DataSource).manager);
  say('warehouse', `receives ${quantity} × ${item}`);
}
