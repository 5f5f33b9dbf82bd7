import type { Client } from './client';
import { until } from './patience';
import { PLAN, type PlannedOrder } from './plan';
import { say } from './voice';

export interface PlacedOrder extends PlannedOrder {
  readonly id: number;
  readonly workflow: string;
}

/** Customers place the planned orders, one after the other. */
export async function placeOrders(client: Client): Promise<PlacedOrder[]> {
  const placed: PlacedOrder[] = [];
  for (const planned of PLAN) {
    const { id, workflow } = await client.post<{ id: number; workflow: string }>('/orders', planned.order);
    say(
      `order ${id}`,
      `${planned.order.customer} orders ${planned.order.quantity} × ${planned.order.item} (${planned.story})`,
    );
    placed.push({ ...planned, id, workflow });
  }
  return placed;
}

/** Some have their order erased once it is shipped: nobody may write to them any more. */
export async function eraseOrders(client: Client, placed: readonly PlacedOrder[]): Promise<void> {
  for (const { id, order } of placed.filter(({ erased }) => erased)) {
    const view = () => client.get<{ currentStep: string }>(`/orders/${id}/workflow`);
    if (!(await until(async () => (await view()).currentStep === 'askForReview'))) continue;
    await client.delete(`/orders/${id}`);
    say(`order ${id}`, `${order.customer} has her data erased: the row of the order is gone`);
  }
}
