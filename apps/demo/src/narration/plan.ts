import type { PlaceOrder } from '../orders/place-order.dto';

/** An order of the demonstration, and what is to become of it. */
export interface PlannedOrder {
  readonly order: PlaceOrder;
  readonly story: string;
  readonly ends: 'finished' | 'cancelled';
  /** How the bank confirms it: when the order waits for it, the same twice, before it does, or not at all. */
  readonly payment: 'once' | 'twice' | 'early' | 'never';
  readonly paid: boolean;
  readonly asked: boolean;
  /** The gateway takes the money, and its answer is lost: it does so for every third order. */
  readonly answerLost?: true;
  /** One of the vendors has moved away. */
  readonly vendorGone?: true;
  /** The customer has it erased once it is shipped. */
  readonly erased?: true;
}

const finished = { ends: 'finished', payment: 'once', paid: true, asked: true } as const;

/** Placed in this order into an empty database, so their ids are 1, 2, 3, … */
export const PLAN: readonly PlannedOrder[] = [
  {
    order: { customer: 'ada', item: 'teapot', quantity: 1, amount: 4_900, card: 'good', destination: 'London' },
    story: 'nothing special',
    ...finished,
  },
  {
    order: { customer: 'mallory', item: 'kettle', quantity: 3, amount: 9_900, card: 'stolen', destination: 'Paris' },
    story: 'the card will be declined',
    ends: 'cancelled',
    payment: 'once',
    paid: false,
    asked: false,
  },
  {
    order: { customer: 'grace', item: 'sieve', quantity: 2, amount: 2_400, card: 'good', destination: 'Arlington' },
    story: "the gateway's answer will be lost, and one of the vendors cannot be told",
    ...finished,
    payment: 'twice',
    vendorGone: true,
    answerLost: true,
  },
  {
    order: { customer: 'brita', item: 'kettle', quantity: 1, amount: 3_300, card: 'good', destination: 'Tórshavn' },
    story: 'there is a storm on the way',
    ...finished,
    payment: 'twice',
  },
  {
    order: { customer: 'linda', item: 'teapot', quantity: 2, amount: 9_800, card: 'good', destination: 'Oslo' },
    story: 'she will have her data erased',
    ends: 'cancelled',
    payment: 'once',
    paid: true,
    asked: false,
    erased: true,
  },
  {
    order: {
      customer: 'alan',
      item: 'samovar',
      quantity: 1,
      amount: 21_200,
      card: 'good',
      destination: 'Bletchley',
      gift: true,
    },
    story: "a present, sold out for now; the gateway's answer will be lost",
    ends: 'finished',
    payment: 'early',
    paid: true,
    asked: false,
    answerLost: true,
  },
  {
    order: { customer: 'basil', item: 'kettle', quantity: 1, amount: 3_300, card: 'good', destination: 'Torquay' },
    story: 'he will not confirm his payment',
    ends: 'cancelled',
    payment: 'never',
    paid: false,
    asked: false,
  },
];
