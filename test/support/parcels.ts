/** Workflows that stand wherever a page of the dashboard may find a run. */

import { Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';

class GatewayTimeout extends Error {
  override readonly name = 'GatewayTimeout';
}

export interface ParcelArgs {
  readonly order: string;
  /** `charge` fails so many times; the first failure is tried again by itself, the others pause the run. */
  readonly failures?: number;
  /** What its error says. */
  readonly message?: string;
  readonly more?: unknown;
}

/** Charged, shipped on a signal, delivered. */
@Workflow({ name: 'Parcel' })
export class Parcel extends WorkflowOf<null, ParcelArgs> {
  @Step({ onException: { matching: GatewayTimeout, action: 'reattempt', maxReattempts: 1, report: 'never' } })
  async charge(ctx: Ctx<this>) {
    const { failures = 0, message = 'The gateway does not answer', order } = ctx.args;
    if (ctx.attempt <= failures) throw new GatewayTimeout(message, { cause: new TypeError('socket closed') });
    ctx.output({ receipt: `R-${order}` });
  }

  @Step({ waitFor: 'shipped' })
  async ship() {}

  @Step()
  async deliver() {}
}

/** Waits for two days before its only step. */
@Workflow({ name: 'Reminder' })
export class Reminder extends WorkflowOf<null, { order: string }> {
  @Step({ wait: '2d' })
  async remind() {}
}
