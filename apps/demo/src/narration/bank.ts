import type { PaymentAnswer } from '../orders/orders.service';
import type { Client } from './client';
import { until } from './patience';
import type { PlacedOrder } from './shoppers';
import { say } from './voice';

export interface ConfirmedPayment {
  readonly placed: PlacedOrder;
  /** What each delivery was answered. */
  readonly answers: readonly PaymentAnswer[];
}

/** The bank confirms what is confirmed early: nobody waits for it yet. */
export function confirmEarly(client: Client, placed: readonly PlacedOrder[]): Promise<ConfirmedPayment[]> {
  return Promise.all(placed.filter(({ payment }) => payment === 'early').map((one) => confirm(client, one)));
}

/** The customers say yes in their banking apps, once they are asked: when their order waits for it. */
export function confirmWhenAsked(client: Client, placed: readonly PlacedOrder[]): Promise<ConfirmedPayment[]> {
  const asked = placed.filter(({ payment }) => payment === 'once' || payment === 'twice');
  return Promise.all(
    asked.map(async (one) => {
      await until(() => waitsForPayment(client, one));
      return confirm(client, one);
    }),
  );
}

async function waitsForPayment(client: Client, { id }: PlacedOrder): Promise<boolean> {
  const run = await client.get<{ status: string; currentStep: string }>(`/orders/${id}/workflow`);
  return run.status === 'waiting' && run.currentStep === 'capture';
}

/** Some twice, with the same id: the bank is not sure that it was heard. */
async function confirm(client: Client, placed: PlacedOrder): Promise<ConfirmedPayment> {
  const { id: orderId, order, payment } = placed;
  const event = { event: `evt-${orderId}`, orderId, amount: order.amount };
  const answers: PaymentAnswer[] = [];
  for (let time = 0; time < (payment === 'twice' ? 2 : 1); time += 1) {
    answers.push(await client.post('/webhooks/payments', event));
    say(
      'bank',
      `${time ? 'sends once more' : 'confirms'} the payment of order ${orderId}: "${answers.at(-1)?.outcome}"`,
    );
  }
  return { placed, answers };
}
