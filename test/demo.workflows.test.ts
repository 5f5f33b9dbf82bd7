import { PayloadValidationError, StepWaitingError, WorkflowStep, type WorkflowHandle } from 'nestjs-pg-workflows';
import { createWorkflowTester, type WorkflowTester } from 'nestjs-pg-workflows/testing';
import { DataSource } from 'typeorm';
import { Mailbox, MailboxGone } from '../apps/demo/src/mail/mailbox';
import { DemoMigrations } from '../apps/demo/src/migrations';
import { NotifyVendor } from '../apps/demo/src/orders/notify-vendor.job';
import { OrdersModule } from '../apps/demo/src/orders/orders.module';
import { OrdersService } from '../apps/demo/src/orders/orders.service';
import { PaymentConfirmed } from '../apps/demo/src/orders/payment-confirmed';
import { GatewayTimeout, PaymentGateway } from '../apps/demo/src/orders/payment-gateway';
import type { PlaceOrder } from '../apps/demo/src/orders/place-order.dto';
import { StockItem } from '../apps/demo/src/orders/stock.entity';
import type {
  PullRequestClosed,
  PullRequestOpened,
  PullRequestReviewed,
} from '../apps/demo/src/reviews/github-events.dto';
import { PullRequest } from '../apps/demo/src/reviews/pull-request.entity';
import { ReviewGiven } from '../apps/demo/src/reviews/review.signals';
import { ReviewWorkflow } from '../apps/demo/src/reviews/review.workflow';
import { ReviewsModule } from '../apps/demo/src/reviews/reviews.module';
import { ReviewsService } from '../apps/demo/src/reviews/reviews.service';
import { workflowSuite, type TestApp } from './support/suite';

/** The demo's own tests, as an application would write them: its modules without a worker, driven by hand. */
describe("the demo's workflows", () => {
  const suite = workflowSuite();
  const { sql, eventually } = suite;
  let booted: TestApp;
  let flows: WorkflowTester;

  beforeAll(async () => {
    const options = { type: 'postgres', url: suite.database.url, migrations: DemoMigrations } as const;
    const dataSource = await new DataSource(options).initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
    // The gateway loses its answer for every third order: not here.
    await sql('alter table orders alter column id set increment by 3');
  });

  beforeEach(async () => {
    booted = await suite.boot([], { worker: false, imports: [OrdersModule, ReviewsModule] });
    flows = createWorkflowTester(booted.app);
  });

  const the = <Service>(service: new (...deps: any[]) => Service) => booted.app.get(service, { strict: false });
  const mailsOf = (run: WorkflowHandle) => the(Mailbox).sent.filter(({ key }) => key.includes(run.id));
  const steps = async (run: WorkflowHandle) =>
    (await run.steps()).map(({ stepName, status }) => `${stepName} ${status}`);

  describe('OrderWorkflow', () => {
    const place = async (values: Partial<PlaceOrder> = {}) => {
      const order = { customer: 'ada', item: 'teapot', quantity: 2, amount: 9_800, card: 'good', destination: 'Oslo' };
      const { order: placed, run } = await the(OrdersService).place({ ...order, ...values });
      return { id: placed.id, run };
    };
    const available = async (item: string) => {
      const { dataSource } = booted;
      return (await dataSource.manager.findOneByOrFail(StockItem, { item })).available;
    };
    const waitingForPayment = async (values?: Partial<PlaceOrder>) => {
      const { id, run } = await place(values);
      await flows.runStepInline(run, 'reserve');
      await flows.performNextStep(run);
      expect([run.status, run.currentStep]).toEqual(['waiting', 'capture']);
      return { id, run };
    };
    const payment = { amount: 9_800, reference: 'evt-1' };

    test('an order waits for its payment and for its vendors, and goes all the way', async () => {
      const before = await available('teapot');
      const { id, run } = await waitingForPayment();
      expect(await available('teapot')).toBe(before - 2);

      await flows.deliverSignal(run, PaymentConfirmed, payment, { idempotencyKey: 'evt-1' });
      expect(the(PaymentGateway).charges).toMatchObject([{ orderId: id, amount: 9_800 }]);

      await flows.runStepInline(run, 'notifyVendors');
      const members = {
        where: { workflowId: run.id, jobName: NotifyVendor.name },
        order: { memberIndex: 'asc' },
      } as const;
      const jobs = await booted.dataSource.manager.find(WorkflowStep, members);
      expect(jobs.map(({ jobArgs }) => jobArgs)).toEqual(
        ['potter', 'glazier'].map((vendor) => ({
          vendor,
          text: 'sold: 2 × teapot',
          key: `wf:${run.id}:notifyVendors:${vendor}`,
        })),
      );
      await expect(flows.speedrun(run)).rejects.toThrow(StepWaitingError);
      await flows.completeFanOut(run);

      await flows.speedrun(run); // three seconds, in no time
      expect(run.status).toBe('finished');
      expect(mailsOf(run)).toMatchObject([{ to: 'ada', text: expect.stringMatching(/^How do you like your teapot/) }]);
    });

    test('a payment that came early is taken without a wait, and the same event again changes nothing', async () => {
      const { id, run } = await place({ gift: true });
      const event = { event: 'evt-early', orderId: id, amount: 9_800 };
      const answers = [
        await the(OrdersService).paymentConfirmed(event),
        await the(OrdersService).paymentConfirmed(event),
      ];
      expect(answers.map(({ outcome }) => outcome)).toEqual(['kept until the order asks', 'delivered before']);

      await expect(flows.speedrun(run)).rejects.toThrow(/notifyVendors.*batch of 2 jobs/);
      expect(the(PaymentGateway).charges).toHaveLength(1);

      await flows.completeFanOut(run);
      await flows.speedrun(run);
      expect(await steps(run)).toEqual([
        'reserve completed',
        'capture completed',
        'notifyVendors completed',
        'ship completed',
        'askForReview skipped',
      ]);
    });

    test('a payment that never comes pauses the run and says why; whoever cancels it frees the goods', async () => {
      const before = await available('kettle');
      const { id, run } = await waitingForPayment({ item: 'kettle' });
      await flows.expireWait(run);

      expect(run.status).toBe('paused');
      const error = {
        class: 'WaitTimedOutError',
        message: expect.stringContaining('"payment_confirmed" did not come'),
      };
      expect((await run.steps()).at(-1)).toMatchObject({ stepName: 'capture', status: 'failed', error });
      expect(booted.reported.map(({ context }) => context.outcome)).toEqual(['paused']);

      await the(OrdersService).cancel(id, { actor: 'olga', reason: 'changed his mind' });
      expect((await run.reload()).status).toBe('cancelled');
      expect(await available('kettle')).toBe(before);
      const late = await the(OrdersService).paymentConfirmed({ event: 'evt-late', orderId: id, amount: 9_800 });
      expect(late.outcome).toBe('too late');
      expect(await run.signals()).toEqual([]);
    });

    test('paid while it is paused, a run that is resumed takes the payment', async () => {
      const { id, run } = await waitingForPayment();
      await flows.expireWait(run);
      await the(OrdersService).paymentConfirmed({ event: 'evt-slow', orderId: id, amount: 9_800 });

      await run.resume({ actor: 'olga' });
      await flows.performNextStep(run);
      expect(await steps(run)).toEqual([
        'reserve completed',
        'capture failed',
        'capture completed',
        'notifyVendors scheduled',
      ]);
    });

    test('a lost answer is asked for again with the same payment and the same key', async () => {
      const { run } = await waitingForPayment();
      const capture = jest.spyOn(the(PaymentGateway), 'capture');
      capture.mockRejectedValueOnce(new GatewayTimeout('no answer'));
      await flows.deliverSignal(run, PaymentConfirmed, payment);
      expect([run.status, run.currentStep]).toEqual(['ready', 'capture']);

      await flows.performNextStep(run);
      expect(await steps(run)).toEqual([
        'reserve completed',
        'capture failed',
        'capture completed',
        'notifyVendors scheduled',
      ]);
      const asked = capture.mock.calls.map(([{ amount }, { idempotencyKey }]) => [amount, idempotencyKey]);
      expect(asked).toEqual([1, 2].map(() => [9_800, `wf:${run.id}:capture`]));
    });

    test('a declined card cancels the run and frees the goods', async () => {
      const before = await available('sieve');
      const { run } = await waitingForPayment({ item: 'sieve', card: 'stolen' });
      await flows.deliverSignal(run, PaymentConfirmed, payment);
      expect(run.status).toBe('cancelled');
      expect(await available('sieve')).toBe(before);
    });

    test('a payload that is no payment is refused, and the order waits on', async () => {
      const { run } = await waitingForPayment();
      const nothing = { amount: 0, reference: 'evt-0' };
      await expect(flows.deliverSignal(run, PaymentConfirmed, nothing)).rejects.toThrow(PayloadValidationError);
      expect((await run.reload()).status).toBe('waiting');
      expect(await run.signals()).toEqual([]);
    });

    test('a vendor whose mailbox is gone fails its job; another is told once', async () => {
      const notice = { vendor: 'tinker', text: 'sold: 1 × sieve', key: 'one' };
      await expect(the(NotifyVendor).perform(notice)).rejects.toThrow(MailboxGone);
      for (let time = 0; time < 2; time += 1) await the(NotifyVendor).perform({ ...notice, vendor: 'weaver' });
      expect(the(Mailbox).sent).toEqual([{ to: 'weaver', text: 'sold: 1 × sieve', key: 'one' }]);
    });
  });

  describe('ReviewWorkflow', () => {
    let newest = 0;
    const sender = { login: 'alice' };
    const opened = async () => {
      const id = (newest += 1);
      const repository = { full_name: 'acme/anvils' };
      const pull_request = { id, number: id, title: 'Lighter anvils', user: sender };
      const event: PullRequestOpened = { repository, pull_request, sender };
      const { workflow } = await the(ReviewsService).opened(event, `opened-${id}`);
      return { id, run: await booted.workflows.find(workflow!) };
    };
    const waitingForReview = async () => {
      const { id, run } = await opened();
      await expect(flows.speedrun(run)).rejects.toThrow(/"review" for the signal "pull_request_review"/);
      return { id, run: await run.reload() };
    };
    const reviewed = (id: number, action: string, delivery: string) => {
      const review = { state: 'approved', user: { login: 'barbara' } };
      const event: PullRequestReviewed = { action, review, pull_request: { id }, sender };
      return the(ReviewsService).reviewed(event, delivery);
    };
    const closed = (id: number, delivery: string) => {
      const event: PullRequestClosed = { pull_request: { id, closed_at: new Date('2026-01-02T03:04:05Z') }, sender };
      return the(ReviewsService).closed(event, delivery);
    };
    const submitted = { action: 'submitted', reviewer: 'barbara', state: 'approved' };
    const rowOf = (run: WorkflowHandle) =>
      booted.dataSource.manager.findOneOrFail(WorkflowStep, { where: { workflowId: run.id }, order: { id: 'desc' } });

    test('a late reviewer is reminded; the review wakes the run, and so does the end of the pull request', async () => {
      const { id, run } = await waitingForReview();
      await flows.expireWait(run);
      expect(run.status).toBe('waiting');
      await eventually(() => mailsOf(run).length === 2, 'the reminder is sent');
      expect(mailsOf(run).map(({ text }) => text)).toEqual([
        `Please review acme/anvils#${id}: Lighter anvils`,
        `Still waiting for your review of acme/anvils#${id}: Lighter anvils`,
      ]);

      await flows.deliverSignal(run, ReviewGiven, submitted, { idempotencyKey: 'review-1' });
      expect(await run.steps()).toContainEqual(
        expect.objectContaining({ stepName: 'review', output: { reviewer: 'barbara', state: 'approved' } }),
      );
      await flows.performNextStep(run);
      expect([run.status, run.currentStep]).toEqual(['waiting', 'thankAuthor']);

      expect(await closed(id, 'closed-1')).toEqual({ outcome: 'the review goes on', workflow: run.id });
      await flows.speedrun(run);
      expect(run.status).toBe('finished');
      expect(mailsOf(run).at(-1)).toMatchObject({ to: 'alice', text: expect.stringContaining('approved by barbara') });
      const pullRequest = await booted.dataSource.manager.findOneByOrFail(PullRequest, { id: String(id) });
      expect(pullRequest.closedAt).toEqual(new Date('2026-01-02T03:04:05Z'));
      expect(await closed(id, 'closed-2')).toEqual({ outcome: 'not under review' });
    });

    test("the deadline is the run's own, and one reminder is enough", async () => {
      const waitingUntil = async (due: Date) => {
        const { id, run: first } = await opened();
        await first.cancel();
        const subject = booted.dataSource.manager.create(PullRequest, { id: String(id) });
        const run = await booted.workflows.start(ReviewWorkflow, { subject, args: { due } });
        await expect(flows.speedrun(run)).rejects.toThrow(StepWaitingError);
        return run;
      };
      const tomorrow = new Date(Date.now() + 86_400_000);
      const early = await waitingUntil(tomorrow);
      expect((await rowOf(early)).timeoutAt).toEqual(tomorrow);

      const late = await waitingUntil(new Date('2026-01-01T00:00:00Z'));
      await flows.expireWait(late);
      expect([late.status, (await rowOf(late)).timeoutAt]).toEqual(['waiting', null]);
    });

    test('a review that is dismissed wakes nobody; the same delivery again changes nothing', async () => {
      const { id, run } = await waitingForReview();
      expect((await reviewed(id, 'dismissed', 'review-2')).outcome).toBe('kept until the review asks');
      expect((await reviewed(id, 'submitted', 'review-3')).outcome).toBe('the review goes on');
      expect((await reviewed(id, 'submitted', 'review-3')).outcome).toBe('delivered before');

      await flows.performNextStep(run);
      expect(run.currentStep).toBe('thankAuthor');
      expect((await run.signals()).map(({ status }) => status)).toEqual(['pending', 'consumed']);
    });

    test('a pull request that nobody closes is let go in the end', async () => {
      const { run } = await waitingForReview();
      await flows.deliverSignal(run, ReviewGiven, submitted);
      await flows.performNextStep(run);
      await flows.expireWait(run);
      expect(run.status).toBe('cancelled');
    });

    test('what is not under review is let go: no run, no signal', async () => {
      const before = await sql('select from workflow_signals');
      expect(await reviewed(9_999, 'submitted', 'review-4')).toEqual({ outcome: 'not under review' });
      expect(await closed(9_999, 'closed-3')).toEqual({ outcome: 'not under review' });
      expect(await sql('select from workflow_signals')).toEqual(before);
    });
  });
});
