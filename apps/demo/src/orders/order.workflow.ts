import { CancelIf, OnException, Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { Mailbox } from '../mail/mailbox';
import { Carrier } from './carrier';
import { Order } from './order.entity';
import { CardDeclined, GatewayTimeout, PaymentGateway } from './payment-gateway';
import { Stock } from './stock';

/**
 * What happens to an order, from top to bottom. Each step is a row: a crash, a deployment or a pause between two of them
 * loses nothing.
 */
@Workflow({
  subject: Order,
  onException: [
    // Half a second, one, two, four; then a person looks at it. Nobody is told before that.
    {
      matching: GatewayTimeout,
      action: 'reattempt',
      wait: (reattempt) => 500 * 2 ** (reattempt - 1),
      maxReattempts: 4,
      report: 'terminal_only',
    },
    // Any other error: the run pauses. That is the default, and says "a person decides".
  ],
})
export class OrderWorkflow extends WorkflowOf<Order, { gift: boolean }> {
  constructor(
    private readonly stock: Stock,
    private readonly gateway: PaymentGateway,
    private readonly carrier: Carrier,
    private readonly mailbox: Mailbox,
  ) {
    super();
  }

  /** Asked before every step. The subject is loaded afresh each time; it is null once its row is gone. */
  @CancelIf()
  erased({ subject }: Ctx<this>) {
    return subject === null;
  }

  /** `ctx.manager` is a transaction that commits together with the step's completion: never one without the other. */
  @Step({ transactional: true })
  async reserve(ctx: Ctx<this>) {
    const { shelf } = await this.stock.reserve(ctx.requireSubject(), ctx.manager);
    ctx.output({ shelf });
  }

  /** The key is the same on every attempt, so an attempt whose answer was lost is not charged again. */
  @Step({ timeout: '5 seconds' })
  async capture(ctx: Ctx<this>) {
    const { id: orderId, card, amount } = ctx.requireSubject();
    const charge = await this.gateway.capture(
      { orderId, card, amount },
      { idempotencyKey: ctx.stepIdempotencyKey, signal: ctx.abortSignal },
    );
    ctx.output({ charge: charge.id });
  }

  /** A policy as code: the verb it calls decides what becomes of the run. */
  @OnException(CardDeclined)
  async declined(_error: CardDeclined, ctx: Ctx<this>) {
    await this.stock.release(ctx.requireSubject(), ctx.manager);
    ctx.cancel();
  }

  @Step()
  async ship(ctx: Ctx<this>) {
    const { destination } = ctx.requireSubject();
    const parcel = await this.carrier.book(destination, { idempotencyKey: ctx.stepIdempotencyKey });
    ctx.output({ tracking: parcel.tracking });
  }

  /** A real shop would wait '7 days'. */
  @Step({ wait: '3 seconds', skipIf: 'isGift' })
  async askForReview(ctx: Ctx<this>) {
    const order = ctx.requireSubject();
    const { capture, ship } = await ctx.outputs();
    await this.mailbox.send({
      key: ctx.stepIdempotencyKey,
      to: order.customer,
      text: `How do you like your ${order.item}? (${ship?.tracking}, paid with ${capture?.charge})`,
    });
  }

  /** Whoever got a present did not pay for it: do not ask. */
  isGift({ args }: Ctx<this>) {
    return args.gift;
  }
}
