import type { WorkflowRun } from 'nestjs-pg-workflows';
import { Order } from '../orders/order.entity';

export function isEnded({ endedAt }: WorkflowRun): boolean {
  return endedAt !== null;
}

/** What the run is about, as the narration names it. */
export function subjectOf({ subjectType, subjectId }: WorkflowRun): string {
  return subjectType === Order.name ? `order ${subjectId}` : `pr ${subjectId}`;
}
