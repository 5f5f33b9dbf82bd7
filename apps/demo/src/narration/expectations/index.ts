import type { ConfirmedPayment } from '../bank';
import type { Answered } from '../github';
import type { Operated } from '../operator';
import type { Scene } from '../scene';
import type { PlacedOrder } from '../shoppers';
import { headline } from '../voice';
import { expectOrders } from './orders';
import { expectReviews } from './reviews';
import { expectWaits } from './waits';

export interface Outcome {
  readonly placed: readonly PlacedOrder[];
  readonly payments: readonly ConfirmedPayment[];
  readonly operated: readonly Operated[];
  readonly answered: readonly Answered[];
  /** What was delivered again when all was over. */
  readonly late: readonly Answered[];
}

/** Says what holds and what does not. True when all is as it should be. */
export async function asExpected(scene: Scene, outcome: Outcome): Promise<boolean> {
  const { placed, answered, late } = outcome;
  const checks = [
    ...(await expectOrders(scene, placed)),
    ...(await expectWaits(scene, outcome)),
    ...(await expectReviews(scene, answered, late)),
  ];
  headline('Is everything as expected?');
  for (const { what, holds, found } of checks) {
    console.log(`  ${holds ? '✓' : '✗'} ${what}${holds ? '' : `\n      ${JSON.stringify(found)}`}`);
  }
  return checks.every(({ holds }) => holds);
}
