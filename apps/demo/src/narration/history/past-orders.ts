import type { Order } from '../../orders/order.entity';
import { NotifyVendor } from '../../orders/notify-vendor.job';
import { OrderWorkflow } from '../../orders/order.workflow';
import { PaymentConfirmed } from '../../orders/payment-confirmed';
import type { Chance } from './chance';
import { PastRun } from './past-run';
import type { Failure } from './past-rows';
import { DAY, HOUR, MINUTE, SECOND } from './time-units';

/** When the shop was deployed last; its gateway has been slower since. */
const DEPLOYED_AGO = 2 * DAY;
const FIRST_ID = 1_001;
const CUSTOMERS = ['ada', 'grace', 'linus', 'barbara', 'edsger', 'margaret', 'donald', 'frances', 'tony', 'radia'];
const PLACES = ['London', 'Arlington', 'Helsinki', 'Boston', 'Nuenen', 'Oslo', 'Lisbon', 'Graz'];
const ITEMS = ['teapot', 'kettle', 'sieve', 'samovar'];
const OLGA = 'dashboard:olga';

const failure = (name: string, message: string, frames: string[], causes: Failure['causes'] = []): Failure => ({
  class: name,
  message,
  backtrace: frames.map((frame) => `at ${frame}`).join('\n'),
  causes,
});
const GATEWAY_TIMEOUT = failure(
  'GatewayTimeout',
  'no answer within 300 ms',
  ['PaymentGateway.capture (apps/demo/src/orders/payment-gateway.ts:41:13)', 'OrderWorkflow.capture (apps/demo/src/orders/order.workflow.ts:72:20)'], // prettier-ignore
  [{ class: 'Error', message: 'connect ETIMEDOUT 192.0.2.7:443' }],
);
const CARD_DECLINED = failure('CardDeclined', 'the bank declines the card', [
  'PaymentGateway.capture (apps/demo/src/orders/payment-gateway.ts:36:44)',
]);
const ROUTE_CLOSED = failure('RouteClosed', 'no ship sails to Reykjavík: storm', [
  'Carrier.book (apps/demo/src/orders/carrier.ts:18:41)',
  'OrderWorkflow.ship (apps/demo/src/orders/order.workflow.ts:105:20)',
]);
const STALLED = failure('StepStalledError', 'the worker shop-2:11 of step "ship" was lost', []);
const MAILBOX_GONE = failure('MailboxGone', 'there is no mailbox of tinker', [
  'Mailbox.send (apps/demo/src/mail/mailbox.ts:20:13)',
]);

export interface PastOrder {
  readonly order: Order;
  readonly run: PastRun;
}

/** The orders of the last days: most went well, some wait, some need a person. */
export class PastOrders {
  readonly all: PastOrder[] = [];

  constructor(
    private readonly chance: Chance,
    private readonly digest: string,
    private readonly today: number,
  ) {}

  tell(): readonly PastOrder[] {
    for (let n = 0; n < 260; n += 1) this.ordinary(this.chance.between(20 * MINUTE, 6 * DAY));
    for (let n = 0; n < 12; n += 1) this.declined(this.chance.between(HOUR, 6 * DAY));
    for (let n = 0; n < 8; n += 1) this.cancelled(this.chance.between(6 * HOUR, 6 * DAY));
    for (let n = 0; n < 9; n += 1) this.stormbound(this.chance.between(HOUR, 10 * HOUR));
    for (let n = 0; n < 6; n += 1) this.gatewayDown(this.chance.between(20 * MINUTE, 5 * HOUR));
    for (let n = 0; n < 3; n += 1) this.vendorGone(this.chance.between(3 * HOUR, 20 * HOUR));
    for (let n = 0; n < 2; n += 1) this.held(this.chance.between(4 * HOUR, 30 * HOUR));
    this.stalled(7 * HOUR);
    for (let n = 0; n < 10; n += 1) this.unpaid(this.chance.between(10 * MINUTE, 40 * HOUR));
    for (let n = 0; n < 4; n += 1) this.unpaid(this.chance.between(8 * DAY, 9 * DAY), { old: true });
    for (let n = 0; n < 6; n += 1) this.later(this.chance.between(HOUR, 5 * HOUR));
    this.underWay();
    // A story that is not over yet has not happened.
    return this.all.filter(({ run }) => run.now < this.today);
  }

  private ordinary(ago: number): void {
    const { order, run } = this.placed(ago);
    this.paid(run, order);
    if (ago < DEPLOYED_AGO ? this.chance.is(0.25) : this.chance.is(0.05)) {
      run.reattempt(300, GATEWAY_TIMEOUT, 500);
      run.begin(this.queued());
    }
    run.complete(this.chance.skewed(90, 900), { charge: `charge-${order.id}` });
    this.told(run, order);
    run.schedule('ship').begin(this.queued()).complete(this.chance.skewed(150, 4_000), { tracking: `parcel-${order.id}` });
    if (this.chance.is(0.1)) run.schedule('askForReview').skip().finish();
    else run.schedule('askForReview', { wait: 3 * SECOND }).begin(this.queued()).complete(12).finish();
  } // prettier-ignore

  private declined(ago: number): void {
    const { order, run } = this.placed(ago, { card: 'stolen' });
    this.paid(run, order).failAndCancel(this.chance.between(80, 200), CARD_DECLINED);
  }

  private cancelled(ago: number): void {
    const { order, run } = this.placed(ago);
    run.schedule('capture').park(PaymentConfirmed.name, 2 * DAY);
    run.cancelBy(this.chance.between(MINUTE, 5 * HOUR), `customer:${order.customer}`, 'ordered twice by mistake');
  }

  private stormbound(ago: number): void {
    const { run } = this.readyToShip(ago, { destination: 'Reykjavík' });
    run.begin(this.queued()).failAndPause(40, ROUTE_CLOSED);
    if (this.chance.is(0.3))
      run
        .resumeBy(20 * MINUTE, OLGA, 'is it over?')
        .begin(60)
        .failAndPause(40, ROUTE_CLOSED);
  }

  private gatewayDown(ago: number): void {
    const { order, run } = this.placed(ago);
    this.paid(run, order, 30 * SECOND);
    for (let again = 0; again < 4; again += 1) {
      run.reattempt(300, GATEWAY_TIMEOUT, 500 * 2 ** again).begin(this.queued());
    }
    run.failAndPause(300, GATEWAY_TIMEOUT);
  }

  private vendorGone(ago: number): void {
    const { order, run } = this.placed(ago, { item: 'sieve' });
    this.paid(run, order, MINUTE).complete(200, { charge: `charge-${order.id}` });
    const fanned = run.schedule('notifyVendors').begin(this.queued());
    fanned.fanOut(
      ['weaver', 'tinker', 'cooper'].map((vendor) => ({
        job: { name: NotifyVendor.name, args: this.notice(order, vendor), tries: vendor === 'tinker' ? 3 : 1 },
        error: vendor === 'tinker' ? MAILBOX_GONE : null,
        due: run.now,
        ended: run.now + (vendor === 'tinker' ? 900 : 60),
      })),
    );
    const message = `OrderWorkflow, step "notifyVendors": 1 of 3 jobs dead-lettered`;
    run.join().failAndPause(0, { class: 'FanOutFailedError', message });
  }

  private held(ago: number): void {
    this.readyToShip(ago).run.pauseBy(30, OLGA, 'the customer wants another address; she will write');
  }

  private stalled(ago: number): void {
    this.readyToShip(ago)
      .run.begin(this.queued())
      .failAndPause(90 * SECOND, STALLED);
  }

  private unpaid(ago: number, { old = false } = {}): void {
    // The oldest were begun by a list of steps that is no longer the present one, and wait without a deadline.
    const { run } = this.placed(ago, {}, old ? 'a list of steps before the present one' : this.digest);
    run.schedule('capture').park(PaymentConfirmed.name, old ? null : 2 * DAY);
  }

  private later(ago: number): void {
    const { order, run } = this.readyToShip(ago);
    run.begin(this.queued()).complete(500, { tracking: `parcel-${order.id}` });
    run.schedule('askForReview', { wait: ago + this.chance.between(30 * MINUTE, 6 * HOUR) });
  }

  /** Sixty vendors are told, one every quarter of a minute: it goes on while one looks. */
  private underWay(): void {
    const { order, run } = this.placed(25 * MINUTE, { item: 'samovar' });
    this.paid(run, order, MINUTE).complete(200, { charge: `charge-${order.id}` });
    run.schedule('notifyVendors').begin(this.queued());
    const [vendors, done] = [60, 22];
    run.fanOut(
      Array.from({ length: vendors }, (_, n) => {
        const due = this.today + (n - done) * 15 * SECOND;
        const args = this.notice(order, `branch ${n + 1}`);
        const ended = n < done ? due + 50 : null;
        return { job: { name: NotifyVendor.name, args, tries: n < done ? 1 : 0 }, error: null, due, ended };
      }),
    );
  }

  private readyToShip(ago: number, of: Partial<Order> = {}): PastOrder {
    const past = this.placed(ago, of);
    this.paid(past.run, past.order, 2 * MINUTE).complete(this.chance.skewed(90, 900), { charge: `charge-${past.order.id}` }); // prettier-ignore
    this.told(past.run, past.order).schedule('ship');
    return past;
  }

  /** Up to its reservation. */
  private placed(ago: number, of: Partial<Order> = {}, digest = this.digest): PastOrder {
    const { chance } = this;
    const order: Order = {
      id: FIRST_ID + this.all.length,
      customer: chance.of(CUSTOMERS),
      item: chance.of(ITEMS),
      quantity: chance.between(1, 3),
      amount: chance.between(12, 240) * 100,
      card: 'good',
      destination: chance.of(PLACES),
      ...of,
    };
    const run = new PastRun({
      workflow: OrderWorkflow.name,
      subject: { type: 'Order', id: String(order.id) },
      args: JSON.stringify({ gift: chance.is(0.1) }),
      digest,
      revision: ago > DEPLOYED_AGO ? '2026.47.0' : '2026.48.1',
      worker: chance.of(['shop-1:11', 'shop-2:11']),
      actor: `customer:${order.customer}`,
      at: this.today - ago,
    });
    run.schedule('reserve').begin(this.queued()).complete(chance.skewed(8, 60), { shelf: 'B7' });
    const past = { order, run };
    this.all.push(past);
    return past;
  }

  /** Up to the beginning of its capture. */
  private paid(run: PastRun, { id, amount }: Order, after = this.chance.skewed(20 * SECOND, 9 * HOUR)): PastRun {
    const payload = { amount, reference: `evt-${id}` };
    run.schedule('capture').park(PaymentConfirmed.name, 2 * DAY);
    return run.receive(after, payload, `evt-${id}`, 'bank').begin(this.queued());
  }

  private told(run: PastRun, order: Order): PastRun {
    run.schedule('notifyVendors').begin(this.queued());
    const jobs = ['potter', 'coppersmith'].map((vendor) => ({
      job: { name: NotifyVendor.name, args: this.notice(order, vendor), tries: 1 },
      error: null,
      due: run.now,
      ended: run.now + this.chance.skewed(50, 3_000),
    }));
    return run.fanOut(jobs).join().complete(0);
  }

  private notice({ id, item, quantity }: Order, vendor: string) {
    return { vendor, text: `sold: ${quantity} × ${item}`, key: `order-${id}:${vendor}` };
  }

  private queued(): number {
    return this.chance.skewed(3, 400);
  }
}
