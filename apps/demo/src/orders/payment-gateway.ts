import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';

export class GatewayTimeout extends Error {}
export class CardDeclined extends Error {}

export interface Payment {
  readonly orderId: number;
  readonly card: string;
  /** In cents. */
  readonly amount: number;
}

export interface Charge extends Payment {
  readonly id: string;
  readonly key: string;
}

/**
 * Stands for a payment provider: slow, sometimes silent, and strict about idempotency keys.
 *
 * For every third order it takes the money and its answer is lost. Whoever asks again with another key pays twice.
 */
@Injectable()
export class PaymentGateway {
  /** Money that was taken. */
  readonly charges: Charge[] = [];
  /** How often it was asked, by key. */
  readonly requests = new Map<string, number>();

  async capture(payment: Payment, options: { idempotencyKey: string; signal: AbortSignal }): Promise<Charge> {
    const { idempotencyKey: key, signal } = options;
    this.requests.set(key, (this.requests.get(key) ?? 0) + 1);
    await pause(50, undefined, { signal });

    const before = this.charges.find((charge) => charge.key === key);
    if (before) return before;
    if (payment.card === 'stolen') throw new CardDeclined('the card was reported stolen');

    const charge = { ...payment, key, id: `charge-${this.charges.length + 1}` };
    this.charges.push(charge);
    if (payment.orderId % 3 === 0) {
      await pause(250, undefined, { signal });
      throw new GatewayTimeout('no answer within 300 ms');
    }
    return charge;
  }
}
