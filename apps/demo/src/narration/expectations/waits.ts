import { FanOutFailedError, WaitTimedOutError, WorkflowEvent } from 'nestjs-pg-workflows';
import { DataSource, In } from 'typeorm';
import { Mailbox } from '../../mail/mailbox';
import { Vendors } from '../../orders/vendors';
import type { ConfirmedPayment } from '../bank';
import { deadLettered } from '../members';
import { OPERATOR, REMEDIES, type Operated } from '../operator';
import type { Scene } from '../scene';
import type { PlacedOrder } from '../shoppers';
import { same, type Check } from './check';

/** What has to be true of what the orders waited for: the bank, and their vendors. */
export async function expectWaits(
  scene: Scene,
  {
    placed,
    payments,
    operated,
  }: { placed: readonly PlacedOrder[]; payments: readonly ConfirmedPayment[]; operated: readonly Operated[] },
): Promise<Check[]> {
  return [
    everyDeliveryWasUnderstood(payments),
    await theyWaited(scene, placed),
    await deadlinesFired(scene, placed),
    vendorsWereTold(scene, placed),
    await theOthersWereDeadLettered(scene, placed, operated),
    await theOperatorIsOnTheTrail(scene, operated),
  ];
}

function everyDeliveryWasUnderstood(payments: readonly ConfirmedPayment[]): Check {
  const outcomes = {
    once: ['the order goes on'],
    twice: ['the order goes on', 'delivered before'],
    early: ['kept until the order asks'],
    never: [],
  };
  return same(
    `${payments.length} payments were confirmed: those that orders waited for woke them, one was kept, repeated ones did nothing`,
    payments.map(({ placed, answers }) => [placed.id, answers.map(({ outcome }) => outcome)]),
    payments.map(({ placed }) => [placed.id, outcomes[placed.payment]]),
  );
}

async function theyWaited(scene: Scene, placed: readonly PlacedOrder[]): Promise<Check> {
  const waits = await events(scene, placed, 'step_waiting');
  const waited = waits.filter(({ details }) => details?.wait_for === 'payment_confirmed');
  return same(
    'every order waited for its payment, except the one that was paid before',
    orderIds(placed, waited),
    placed.filter(({ payment }) => payment !== 'early').map(({ id }) => id),
  );
}

async function deadlinesFired(scene: Scene, placed: readonly PlacedOrder[]): Promise<Check> {
  const fired = await events(scene, placed, 'wait_timed_out');
  return same(
    'the deadline fired once for the order that nobody paid, and for no other',
    orderIds(placed, fired),
    placed.filter(({ payment }) => payment === 'never').map(({ id }) => id),
  );
}

function vendorsWereTold({ app }: Scene, placed: readonly PlacedOrder[]): Check {
  const { sent, gone } = app.get(Mailbox, { strict: false });
  const vendors = app.get(Vendors, { strict: false });
  const toTell = placed.filter(({ paid }) => paid).flatMap(({ order }) => vendors.of(order.item));
  return same(
    'every vendor of what was sold was told once, except who cannot be reached',
    sent
      .map(({ to }) => to)
      .filter((to) => toTell.includes(to))
      .toSorted(),
    toTell.filter((vendor) => !gone.has(vendor)).toSorted(),
  );
}

async function theOthersWereDeadLettered(
  scene: Scene,
  placed: readonly PlacedOrder[],
  operated: readonly Operated[],
): Promise<Check> {
  const failed = operated.filter(({ error }) => error === FanOutFailedError.name);
  const found = [];
  for (const { run } of failed) {
    const jobs = await deadLettered(scene, run);
    const message = (await run.steps()).find(({ error }) => error?.class === FanOutFailedError.name)?.error?.message;
    found.push([run.id, jobs.map(({ jobAttempt, errorClass }) => [jobAttempt, errorClass]), message]);
  }
  const vendors = scene.app.get(Vendors, { strict: false });
  return same(
    'the job of the vendor who cannot be reached was dead-lettered after three tries; the run paused and said so',
    found,
    placed
      .filter(({ vendorGone }) => vendorGone)
      .map(({ workflow, order }) => [
        workflow,
        [[3, 'MailboxGone']],
        `1 of ${vendors.of(order.item).length} jobs dead-lettered`,
      ]),
  );
}

async function theOperatorIsOnTheTrail({ app }: Scene, operated: readonly Operated[]): Promise<Check> {
  const found = await app.get(DataSource).manager.find(WorkflowEvent, {
    where: { actor: OPERATOR, name: In(['resumed', 'cancelled']) },
    order: { id: 'asc' },
  });
  return same(
    `${Object.keys(REMEDIES).length} paused runs were looked after, one by each remedy; by whom and why stands on their trails`,
    found.map(({ workflowId, name, reason }) => [workflowId, name, reason]),
    operated.map(({ run, error }) => [
      run.id,
      error === WaitTimedOutError.name ? 'cancelled' : 'resumed',
      REMEDIES[error]?.reason,
    ]),
  );
}

function events({ app }: Scene, placed: readonly PlacedOrder[], name: WorkflowEvent['name']): Promise<WorkflowEvent[]> {
  const workflowId = In(placed.map(({ workflow }) => workflow));
  return app.get(DataSource).manager.find(WorkflowEvent, { where: { workflowId, name } });
}

/** Of which orders they are, in order; an order twice when it has two. */
function orderIds(placed: readonly PlacedOrder[], found: readonly WorkflowEvent[]): (number | undefined)[] {
  const idOf = new Map(placed.map(({ id, workflow }) => [workflow, id]));
  return found.map(({ workflowId }) => idOf.get(workflowId)).toSorted((one, other) => one! - other!);
}
