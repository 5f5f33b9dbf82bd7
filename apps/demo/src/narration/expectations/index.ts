import type { Answered } from '../github';
import type { Scene } from '../scene';
import type { PlacedOrder } from '../shoppers';
import { headline } from '../voice';
import { expectOrders } from './orders';
import { expectReviews } from './reviews';

export interface Outcome {
  readonly placed: readonly PlacedOrder[];
  readonly answered: readonly Answered[];
  /** What was delivered again when all was over. */
  readonly late: readonly Answered[];
}

/** Says what holds and what does not. True when all is as it should be. */
export async function asExpected(scene: Scene, { placed, answered, late }: Outcome): Promise<boolean> {
  const checks = [...(await expectOrders(scene, placed)), ...(await expectReviews(scene, answered, late))];
  headline('Is everything as expected?');
  for (const { what, holds, found } of checks) {
    console.log(`  ${holds ? '✓' : '✗'} ${what}${holds ? '' : `\n      ${JSON.stringify(found)}`}`);
  }
  return checks.every(({ holds }) => holds);
}
