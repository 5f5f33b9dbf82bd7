import { CancelIf, FanOut, FanOutBatch, OnException, Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';
import { Mailbox } from '../mail/mailbox';
import { Carrier } from './carrier';
import { NotifyVendor } from './notify-vendor.job';
import { Order } from './order.entity';
import { PaymentConfirmed } from './payment-confirmed';
import { CardDeclined, GatewayTimeout, PaymentGateway } from './payment-gateway';
import { OutOfStock, Stock } from './stock';
import { Vendors } from './vendors';

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
    // Sold out: it is looked for again, half a minute long. A real shop would be more patient.
    { matching: OutOfStock, action: 'reattempt', wait: '1 second', maxReattempts: 30, report: 'terminal_only' },
    // Any other error: the run pauses. That is the default, and says "a person decides".
  ],
})
export class OrderWorkflow extends WorkflowOf<Order, { gift: boolean }> {
  constructor(
    private readonly stock: Stock,
    private readonly gateway: PaymentGateway,
    private readonly vendors: Vendors,
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

  /**
   * Runs once the bank has confirmed the payment; one that it confirmed before is taken at once. If it does not in time, the run
   * pauses, and a person decides. A real shop would wait for '2 days'.
   *
   * The key is the same on every attempt, so an attempt whose answer was lost is not charged again. Every attempt has the signal.
   */
  @Step({ waitFor: PaymentConfirmed, waitTimeout: '5 seconds', onTimeout: 'pause', timeout: '5 seconds' })
  async capture(ctx: Ctx<this, typeof PaymentConfirmed>) {
    const { id: orderId, card } = ctx.requireSubject();
    const { amount } = ctx.receivedSignal.payload;
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

  /** A job for each vendor. The next step comes when all are done; if one could not be told, the run pauses. */
  @FanOut({ onBatchFailure: 'pause' })
  notifyVendors(ctx: Ctx<this>, batch: FanOutBatch) {
    const { item, quantity } = ctx.requireSubject();
    for (const vendor of this.vendors.of(item)) {
      batch.add(NotifyVendor, {
        vendor,
        text: `sold: ${quantity} × ${item}`,
        key: `${ctx.stepIdempotencyKey}:${vendor}`,
      });
    }
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
