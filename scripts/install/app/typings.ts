import { Step, Workflow, WorkflowOf, type Ctx, type WorkflowService } from 'nestjs-pg-workflows';
import type { GreetingWorkflow } from './greeting.workflow.js';

// What an application's compiler makes of the package's types: every expected error must be one.

class Order {
  id!: number;
  closed!: boolean;
}

@Workflow({ subject: Order })
class OrderWorkflow extends WorkflowOf<Order, { plan?: string }> {
  @Step()
  async typed(ctx: Ctx<this>) {
    const plan: string | undefined = ctx.args.plan;
    // @ts-expect-error there is no such argument
    void ctx.args.price;
    // @ts-expect-error the subject may be gone
    void ctx.subject.id;
    const id: number = ctx.requireSubject().id;
    // @ts-expect-error a step without waitFor has no signal
    void ctx.receivedSignal.payload;
    if (!ctx.subject) ctx.cancel();
    return [plan, id, ctx.subject.closed];
  }
}

@Workflow()
class BareWorkflow extends WorkflowOf {
  @Step()
  async only() {}
}

export async function typings(workflows: WorkflowService, greeting: typeof GreetingWorkflow, order: Order) {
  await workflows.start(greeting, { args: { name: 'Ada' } });
  // @ts-expect-error an argument of another type
  await workflows.start(greeting, { args: { name: 5 } });
  // @ts-expect-error an argument that is not declared
  await workflows.start(greeting, { args: { name: 'Ada', nickname: 'A' } });
  // @ts-expect-error a required argument is missing
  await workflows.start(greeting, { args: {} });
  // @ts-expect-error the arguments are missing
  await workflows.start(greeting, { actor: 'alice' });
  // @ts-expect-error the options are missing
  await workflows.start(greeting);
  // @ts-expect-error there is no such option
  await workflows.start(greeting, { args: { name: 'Ada' }, because: 'why not' });

  await workflows.start(BareWorkflow);
  await workflows.start(BareWorkflow, { idempotencyKey: 'once' });
  // @ts-expect-error it takes no arguments
  await workflows.start(BareWorkflow, { args: { name: 'Ada' } });
  // @ts-expect-error it is about nothing
  await workflows.start(BareWorkflow, { subject: order });

  await workflows.start(OrderWorkflow);
  await workflows.start(OrderWorkflow, { subject: order });
  await workflows.start(OrderWorkflow, { subject: order, args: { plan: 'pro' } });
  await workflows.start(OrderWorkflow, { subject: { id: 5 } });
  await workflows.signal(OrderWorkflow, { id: 5 }, 'paid');
  // @ts-expect-error its id is a number
  await workflows.findOngoing(OrderWorkflow, { id: '5' });
  // @ts-expect-error it is about something else
  await workflows.start(OrderWorkflow, { subject: { region: 'eu' } });

  const [first] = await workflows.startMany(greeting, [{ args: { name: 'Ada' } }, { args: { name: 'Grace' } }]);
  // @ts-expect-error the second one's arguments are missing
  await workflows.startMany(greeting, [{ args: { name: 'Ada' } }, {}]);
  // @ts-expect-error a workflow is a class that extends WorkflowOf
  await workflows.start(Order);

  const ongoing = await workflows.findOngoing(OrderWorkflow, order);
  // @ts-expect-error there may be none
  await ongoing.pause();
  await ongoing?.pause({ actor: 'alice', reason: 'SMTP is down' });
  // @ts-expect-error no run has this status
  return first.status === 'done';
}
