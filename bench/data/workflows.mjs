// @ts-check
// The classes of the runs in the tables: some plain ones in lanes of their own, one that waits, one that fans out.

import { fanOut, step, SubjectLoader, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';

/** Whom the runs are about; no entity, so that reading it costs nothing. */
export class Account {
  /** @type {string} */
  id;

  /** @param {string} id */
  constructor(id) {
    this.id = id;
  }
}

export class AccountLoader {
  /** @param {string} id */
  async load(id) {
    return new Account(id);
  }
}
SubjectLoader(Account)(AccountLoader);

export const STEPS = ['receive', 'check', 'charge', 'pack', 'tell'];
const nothing = async () => {};

/** @typedef {{ order: number, note?: string }} Args */

/** @extends {WorkflowOf<Account, Args>} */
export class Order extends WorkflowOf {}
Workflow({ name: 'Order', subject: Account, steps: STEPS.map((name) => step(name, nothing)) })(Order);

/** @extends {WorkflowOf<Account, Args>} */
export class Invoice extends WorkflowOf {}
Workflow({ name: 'Invoice', subject: Account, steps: STEPS.map((name) => step(name, nothing)) })(Invoice);

/** @extends {WorkflowOf<Account, Args>} */
export class Mailing extends WorkflowOf {}
Workflow({
  name: 'Mailing',
  subject: Account,
  jobOptions: { queue: 'mail', priority: 10 },
  steps: STEPS.map((name) => step(name, nothing)),
})(Mailing);

/** @extends {WorkflowOf<Account, Args>} */
export class Shipment extends WorkflowOf {}
Workflow({
  name: 'Shipment',
  subject: Account,
  jobOptions: { priority: 5 },
  steps: STEPS.map((name) => step(name, nothing)),
})(Shipment);

/**
 * Waits for a signal.
 *
 * @extends {WorkflowOf<Account, {}>}
 */
export class Approval extends WorkflowOf {}
Workflow({
  name: 'Approval',
  subject: Account,
  steps: [step('wait', nothing, { waitFor: 'approved' }), step('next', nothing)],
})(Approval);

export class Letter {
  async perform() {}
}
WorkflowJob({ name: 'Letter' })(Letter);

/** @extends {WorkflowOf<null, {}>} */
export class Letters extends WorkflowOf {}
Workflow({ name: 'Letters', steps: [fanOut('send', async () => {})] })(Letters);

export const PROVIDERS = [Order, Invoice, Mailing, Shipment, Approval, Letters, Letter, AccountLoader];
