import type { Ctx, FanOutBatch, JobContext, JobHandler, StepContext } from './context.js';
import { WorkflowOf } from './context.js';
import { definitionOf } from './declarations.js';
import {
  CancelIf,
  FanOut,
  OnException,
  RemovedStep,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowJob,
} from './decorators.js';
import { defineSignal, matcher } from './signal.js';
import { step } from './step.js';

// What is shown here is shown by `tsc`: every expected error must be one, everything else must compile.

class Order {
  id!: number;
  closed!: boolean;
}
type Args = { plan: string };
class ShippedDto {
  region!: string;
}
class TimeoutError extends Error {
  readonly after = 5;
}

const Paid = defineSignal<{ amount: number }>('paid');
const Shipped = defineSignal('shipped', ShippedDto);

@WorkflowJob({ queue: 'mail', backoff: (tries) => tries * 1_000 })
class NotifyVendor implements JobHandler<{ vendorId: string }> {
  async perform(args: { vendorId: string }, job: JobContext) {
    const status = await job.runStatus();
    return status === 'cancelled' ? args.vendorId.length : job.attempt;
  }
}

@Workflow({
  subject: Order,
  onException: { matching: TimeoutError, action: 'reattempt', wait: (number) => number * 1_000 },
})
class OrderWorkflow extends WorkflowOf<Order, Args> {
  @CancelIf()
  gone({ subject }: Ctx<this>) {
    return subject === null || subject.closed;
  }

  @Step()
  async typedByThis(ctx: Ctx<this>) {
    const plan: string = ctx.args.plan;
    const none: null = ctx.receivedSignal;
    // @ts-expect-error there is no such argument
    void ctx.args.price;
    // @ts-expect-error arguments are frozen
    ctx.args.plan = 'pro';
    // @ts-expect-error the subject may be gone
    void ctx.subject.id;
    const required: number = ctx.requireSubject().id;
    if (!ctx.subject) ctx.cancel();
    const narrowed: number = ctx.subject.id;
    return [plan, none, required, narrowed];
  }

  @Step()
  async typedByName(ctx: Ctx<OrderWorkflow>) {
    if (!ctx.subject) ctx.skip();
    return ctx.subject.closed;
  }

  @Step({ waitFor: Paid, waitTimeout: (ctx) => ctx.subject.due as Date, onTimeout: 'cancel' })
  async waits(ctx: Ctx<this, typeof Paid>) {
    const amount: number = ctx.receivedSignal.payload.amount;
    // @ts-expect-error the payload has no region
    void ctx.receivedSignal.payload.region;
    return amount;
  }

  @Step({ waitFor: Shipped })
  async waitsByDto(ctx: Ctx<this, typeof Shipped>) {
    const region: string = ctx.receivedSignal.payload.region;
    return region;
  }

  @Step({ waitFor: matcher('shipped', (payload: { region: string }) => payload.region === 'eu') })
  async waitsByMatcher(ctx: Ctx<this, typeof Shipped>) {
    return ctx.receivedSignal.payload.region;
  }

  @Step({ waitFor: 'paid', waitTimeout: '2 days' })
  async waitsByName(ctx: Ctx<this, typeof Paid>) {
    return ctx.receivedSignal.payload.amount;
  }

  // @ts-expect-error the step waits for another signal
  @Step({ waitFor: Paid })
  async waitsForAnother(ctx: Ctx<this, typeof Shipped>) {
    return ctx.receivedSignal.payload.region;
  }

  // @ts-expect-error a step without waitFor has no signal
  @Step()
  async waitsForNothing(ctx: Ctx<this, typeof Paid>) {
    return ctx.receivedSignal.payload.amount;
  }

  @Step()
  // @ts-expect-error the context needs its type (TS7006)
  async implicit(ctx) {
    return ctx;
  }

  @Step()
  async bare() {}

  @Step({ wait: '7 days', skipIf: 'gone', jobOptions: { priority: 1 }, timeout: 5 })
  async loose(ctx: StepContext<Order>) {
    const anything: string = ctx.args.whatever;
    return anything;
  }

  @RemovedStep() reminder?: never;

  @FanOut({ onBatchFailure: 'skip' })
  async fans(ctx: Ctx<this>, batch: FanOutBatch) {
    batch.add(NotifyVendor, { vendorId: ctx.stepIdempotencyKey }, { queue: 'mail', wait: '1s' });
    // @ts-expect-error the job wants other arguments
    batch.add(NotifyVendor, { vendor: 5 });
    // @ts-expect-error the workflow owns the batch's end
    batch.onComplete(() => undefined);
  }

  @OnException(TimeoutError)
  timedOut(error: TimeoutError, ctx: Ctx<this>) {
    ctx.reattempt({ wait: error.after });
  }

  @OnException([TimeoutError, RangeError])
  listed(error: TimeoutError | RangeError) {
    return error.message;
  }

  // @ts-expect-error the handler is for other errors
  @OnException(RangeError)
  mismatched(error: TimeoutError) {
    return error.after;
  }

  @OnException()
  other(error: unknown, ctx: Ctx<this>) {
    if (error) ctx.pause();
  }

  @OnException(['CardDeclined', TimeoutError])
  named(error: Error) {
    return error.message;
  }
}

@Workflow({
  steps: [
    step('welcome', async (ctx) => ctx.subject.whatever as string),
    step<Order, Args>('typed', async (ctx) => {
      if (!ctx.subject) return ctx.cancel();
      return [ctx.subject.id, ctx.args.plan];
    }),
    step('paid', async (ctx) => ctx.receivedSignal.payload.amount satisfies number, { waitFor: Paid }),
    step<Order, Args, typeof Paid>('paidTyped', (ctx) => ctx.receivedSignal.payload.amount, { waitFor: Paid }),
    step((ctx) => ctx.output({ done: true }), { wait: '2 days' }),
  ],
})
class ListWorkflow extends WorkflowOf<Order, Args> {}

@SubjectLoader(Order)
class OrderLoader {
  async load(_id: string): Promise<Order | null> {
    return null;
  }
}

// @ts-expect-error text that is no duration
void step('bare', { wait: 'tomorrow' });
// @ts-expect-error an action that does not exist
void step('bare', { waitFor: Paid, onTimeout: 'explode' });

// @ts-expect-error it loads something else
@SubjectLoader(Order)
class WrongLoader {
  async load(_id: string): Promise<{ region: string } | null> {
    return null;
  }
}

describe('typings', () => {
  it('DEF-02 the typed classes load', () => {
    expect(definitionOf(OrderWorkflow)!.steps).toHaveLength(13);
    expect(definitionOf(ListWorkflow)!.steps).toHaveLength(5);
    expect([OrderLoader, WrongLoader]).toHaveLength(2);
  });

  it('DEF-07 WorkflowOf adds nothing to an instance', () => {
    class Bare extends WorkflowOf<Order, Args> {}
    expect(Reflect.ownKeys(new Bare())).toEqual([]);
  });
});
