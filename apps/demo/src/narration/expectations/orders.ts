import { DataSource } from 'typeorm';
import { incidents } from '../../incidents';
import { Mailbox } from '../../mail/mailbox';
import { Order } from '../../orders/order.entity';
import { PaymentGateway } from '../../orders/payment-gateway';
import { StockItem } from '../../orders/stock.entity';
import type { Scene } from '../scene';
import type { PlacedOrder } from '../shoppers';
import { DELIVERED } from '../warehouse';
import { same, type Check } from './check';

/** What has to be true of the orders, by their plan. */
export async function expectOrders(scene: Scene, placed: readonly PlacedOrder[]): Promise<Check[]> {
  return [
    await theyEnded(scene, placed),
    ...theyPaidOnce(scene, placed),
    await stockIsRight(scene, placed),
    theyWereAsked(scene, placed),
    errorsWereReported(),
  ];
}

async function theyEnded({ runs, played }: Scene, placed: readonly PlacedOrder[]): Promise<Check> {
  const found = await runs.find({ where: { ...played, subjectType: Order.name }, order: { id: 'asc' } });
  return same(
    `${placed.length} orders ended as they should`,
    found.map(({ id, status }) => [id, status]),
    placed.map(({ workflow, ends }) => [workflow, ends]),
  );
}

function theyPaidOnce({ app }: Scene, placed: readonly PlacedOrder[]): Check[] {
  const { charges, requests } = app.get(PaymentGateway, { strict: false });
  const sorted = charges.map(({ orderId, amount }) => [orderId, amount]).toSorted(([one], [other]) => one - other);
  const asked = (key: string) => requests.get(key) ?? 0;
  const lost = placed.filter(({ answerLost }) => answerLost);
  return [
    same(
      'every paid order was charged once, the declined one never',
      sorted,
      placed.filter(({ paid }) => paid).map(({ id, order }) => [id, order.amount]),
    ),
    same('no idempotency key was charged twice', new Set(charges.map(({ key }) => key)).size, charges.length),
    same(
      `${lost.length} lost answers of the gateway were asked for again with the same key`,
      lost.map(({ workflow }) => asked(`wf:${workflow}:capture`)),
      lost.map(() => 2),
    ),
  ];
}

async function stockIsRight({ app, stock }: Scene, placed: readonly PlacedOrder[]): Promise<Check> {
  const items = await app.get(DataSource).manager.find(StockItem);
  const before = new Map(stock.map(({ item, available }) => [item, available]));
  const received = (item: string) => (item === DELIVERED.item ? DELIVERED.quantity : 0);
  const sold = (item: string) =>
    placed.filter(({ paid, order }) => paid && order.item === item).reduce((sum, { order }) => sum + order.quantity, 0);
  return same(
    'the stock has what came in and lacks what was sold, and nothing else',
    items.map(({ item, available }) => [item, available]),
    items.map(({ item }) => [item, before.get(item)! + received(item) - sold(item)]),
  );
}

function theyWereAsked({ app }: Scene, placed: readonly PlacedOrder[]): Check {
  const { sent } = app.get(Mailbox, { strict: false });
  const customers = new Set(placed.map(({ order }) => order.customer));
  return same(
    'one mail asks for a review of each order that is to be reviewed',
    sent
      .map(({ to }) => to)
      .filter((to) => customers.has(to))
      .toSorted(),
    placed
      .filter(({ asked }) => asked)
      .map(({ order }) => order.customer)
      .toSorted(),
  );
}

function errorsWereReported(): Check {
  const told = incidents.list.map(({ error, context }) => `${error}, ${context.outcome}`).toSorted();
  return same('the error reporter heard of what was not tried again', told, [
    'CardDeclined, cancelled',
    'FanOutFailedError, paused',
    'RouteClosed, paused',
    'WaitTimedOutError, paused',
  ]);
}
