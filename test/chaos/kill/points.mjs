// @ts-check
// Where workers are killed and connections are cut, what the rows say right then, and what is to come of it.

/**
 * @typedef {import('../../support/pg-proxy.mjs').Moment} Moment
 *
 * @typedef {object} Point
 * @property {string} name
 * @property {'kill' | 'freeze' | 'cut'} does `freeze`: the process stands still for longer than its lease, and then goes on
 * @property {'Chain' | 'Guarded' | 'Gated' | 'Skipping' | 'Transactional' | 'Crowd' | 'Single' | 'Doomed'} workflow
 * @property {Moment} [moment] seen by the proxy
 * @property {string} [place] reached by the worker's own code
 * @property {string} [leaves] what everybody reads once a killed worker's connections are gone, as `stateOf` tells it: the proof that the
 *   kill came where it should
 * @property {string} [orLeaves] the other thing that it may be, by luck
 * @property {RegExp} [missed] what it says when the worker went on before it was struck: the round is played again
 * @property {'stall' | 'dead letter' | 'nothing'} follows `stall`: the stall action; `dead letter`: the run pauses on a failed batch;
 *   `nothing`: the run goes on as if nothing had been
 * @property {string} shows lines of docs/behaviour.md
 * @property {true} [sweeps] only a sweep can find it, after `stallThreshold`
 */

const answered = (/** @type {string} */ statement) => /** @type {Moment} */ ({ statement, on: 'answer' });
/** The answer says that a row was claimed, or settled: there are also those that say that none was. */
const did = (/** @type {string} */ statement, nth = 1) =>
  /** @type {Moment} */ ({ statement, on: 'answer', nth, withRows: true });
const committed = (/** @type {string} */ after) => /** @type {Moment} */ ({ statement: 'commit', on: 'answer', after });
const sent = (/** @type {string} */ statement, nth = 1) => /** @type {Moment} */ ({ statement, on: 'request', nth });
const committing = (/** @type {string} */ after) =>
  /** @type {Moment} */ ({ statement: 'commit', on: 'request', after });

/** A claim that was on its way as the commit was sent saw what that made due. */
const BEGAN_THREE = /, three (?:in_progress|completed)/;

/** @type {readonly Point[]} */
const KILLS = [
  {
    name: 'after the claim',
    shows: 'SWEEP-01 IDEM-09',
    workflow: 'Chain',
    moment: did('wf_claim'),
    leaves: 'performing: one in_progress; done: nothing',
    follows: 'stall',
  },
  {
    name: 'before the body',
    shows: 'SWEEP-01 IDEM-09',
    workflow: 'Chain',
    place: 'one:begin',
    leaves: 'performing: one in_progress; done: nothing',
    follows: 'stall',
  },
  {
    name: 'after the body',
    shows: 'SWEEP-01 IDEM-09 IDEM-01',
    workflow: 'Chain',
    place: 'two:end',
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'before the flush',
    shows: 'SWEEP-01 IDEM-09 IDEM-01',
    workflow: 'Chain',
    moment: sent('wf_settle', 2),
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'after the flush, next step in place',
    shows: 'SWEEP-01 IDEM-09 IDEM-06',
    workflow: 'Chain',
    moment: did('wf_settle'),
    leaves: 'performing: one completed, two in_progress; done: one',
    follows: 'stall',
  },
  {
    name: 'after the last flush',
    shows: 'IDEM-06',
    workflow: 'Chain',
    moment: did('wf_settle', 3),
    leaves: 'finished: one completed, two completed, three completed; done: one, two, three',
    follows: 'nothing',
  },
  {
    name: 'in a guard',
    shows: 'IDEM-09 FLOW-04',
    workflow: 'Guarded',
    place: 'two:guard',
    leaves: 'ready: one completed, two scheduled; done: one',
    follows: 'nothing',
  },
  {
    name: 'at the gate',
    shows: 'IDEM-09 SIG-01',
    workflow: 'Gated',
    place: 'two:gate',
    leaves: 'ready: one completed, two scheduled; done: one',
    follows: 'nothing',
  },
  {
    name: 'after a guarded claim',
    shows: 'SWEEP-01 IDEM-09',
    workflow: 'Guarded',
    moment: committed('wf_take'),
    leaves: 'performing: one completed, two in_progress; done: one',
    follows: 'stall',
  },
  {
    name: 'before a one-run settlement commits',
    shows: 'SWEEP-01 IDEM-09',
    workflow: 'Skipping',
    moment: committing('wf_change'),
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'after a one-run settlement',
    shows: 'IDEM-06',
    workflow: 'Skipping',
    moment: committed('wf_change'),
    leaves: 'ready: one completed, two skipped, three scheduled; done: one, two',
    missed: BEGAN_THREE,
    follows: 'nothing',
  },
  {
    name: 'opening a batch, members written',
    shows: 'SWEEP-01 FAN-02',
    workflow: 'Crowd',
    moment: answered('wf_open_members'),
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'opening a batch, parked',
    shows: 'SWEEP-01 FAN-02',
    workflow: 'Crowd',
    moment: answered('wf_park_batch'),
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'a batch was opened',
    shows: 'FAN-02 FAN-05',
    workflow: 'Crowd',
    moment: committed('wf_park_batch'),
    leaves: 'waiting: one completed, two waiting, two[0] scheduled, two[1] scheduled, two[2] scheduled; done: one, two',
    // A poll of the same worker may come between the commit and the kill.
    orLeaves:
      'waiting: one completed, two waiting, two[0] in_progress, two[1] in_progress, two[2] in_progress; done: one, two',
    follows: 'nothing',
  },
  {
    name: 'in a member',
    shows: 'FAN-23',
    workflow: 'Single',
    place: 'member 0:end',
    leaves: 'waiting: one completed, two waiting, two[0] in_progress; done: one, two, two[0]',
    follows: 'nothing',
  },
  {
    name: 'before the flush of members',
    shows: 'FAN-23',
    workflow: 'Single',
    moment: sent('wf_settle_members'),
    leaves: 'waiting: one completed, two waiting, two[0] in_progress; done: one, two, two[0]',
    follows: 'nothing',
  },
  {
    name: 'in a member without attempts left',
    shows: 'FAN-23 FAN-07',
    workflow: 'Doomed',
    place: 'member 1:begin',
    follows: 'dead letter',
  },
  {
    name: 'after the flush of the last member',
    shows: 'SWEEP-12 FAN-23',
    workflow: 'Single',
    moment: did('wf_settle_members'),
    leaves: 'waiting: one completed, two waiting, two[0] completed; done: one, two, two[0]',
    follows: 'nothing',
    sweeps: true,
  },
  {
    name: 'at the join',
    shows: 'SWEEP-12 FAN-18',
    workflow: 'Single',
    moment: answered('wf_count_members'),
    leaves: 'waiting: one completed, two waiting, two[0] completed; done: one, two, two[0]',
    follows: 'nothing',
    sweeps: true,
  },
  {
    name: 'after the join',
    shows: 'FAN-18 IDEM-06',
    workflow: 'Single',
    moment: committed('wf_count_members'),
    leaves: 'ready: one completed, two completed, two[0] completed, three scheduled; done: one, two, two[0]',
    missed: BEGAN_THREE,
    follows: 'nothing',
  },
  {
    name: 'in a transactional body',
    shows: 'SWEEP-01 FLOW-17',
    workflow: 'Transactional',
    place: 'two:end',
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'before a transactional step commits',
    shows: 'SWEEP-01 FLOW-17',
    workflow: 'Transactional',
    moment: committing('wf_change'),
    leaves: 'performing: one completed, two in_progress; done: one, two',
    follows: 'stall',
  },
  {
    name: 'after a transactional step committed',
    shows: 'FLOW-17 IDEM-06',
    workflow: 'Transactional',
    moment: committed('wf_change'),
    leaves: 'ready: one completed, two completed, three scheduled; done: one, two; written: two',
    missed: BEGAN_THREE,
    follows: 'nothing',
  },
].map((point) => /** @type {Point} */ ({ ...point, does: 'kill' }));

/** It is taken for dead, and comes back with an outcome that nobody wants any more. @type {readonly Point[]} */
const FREEZES = [
  {
    name: 'frozen in a body',
    workflow: 'Chain',
    leaves: 'performing: one completed, two in_progress; done: one, two',
  },
  {
    name: 'frozen in a transactional body',
    workflow: 'Transactional',
    leaves: 'performing: one completed, two in_progress; done: one, two',
  },
].map(
  (point) => /** @type {Point} */ ({ ...point, shows: 'SWEEP-09', does: 'freeze', place: 'two:end', follows: 'stall' }),
);

/** The database has committed, and the worker, which lives on, never hears of it. @type {readonly Point[]} */
const CUTS = [
  { name: 'a start', workflow: 'Chain', moment: answered('wf_start') },
  { name: 'a claim', workflow: 'Chain', moment: did('wf_claim') },
  { name: 'a flush', workflow: 'Chain', moment: did('wf_settle') },
  { name: 'the last flush', workflow: 'Chain', moment: did('wf_settle', 3) },
  { name: 'a guarded claim', workflow: 'Guarded', moment: committed('wf_take') },
  { name: 'a one-run settlement', workflow: 'Skipping', moment: committed('wf_change') },
  { name: 'the opening of a batch', workflow: 'Crowd', moment: committed('wf_park_batch') },
  { name: 'a flush of members', workflow: 'Single', moment: did('wf_settle_members') },
  { name: 'a join', workflow: 'Single', moment: committed('wf_count_members') },
  { name: 'the commit of a transactional step', workflow: 'Transactional', moment: committed('wf_change') },
].map(({ name, ...point }) => cut({ ...point, name: `cut: ${name}` }));

/** The database never got it: to the worker it looks the same. @type {readonly Point[]} */
const CUTS_BEFORE = [
  { name: 'a flush', workflow: 'Chain', moment: sent('wf_settle') },
  { name: 'the commit of a guarded claim', workflow: 'Guarded', moment: committing('wf_take') },
  { name: 'the commit of a one-run settlement', workflow: 'Skipping', moment: committing('wf_change') },
  { name: 'the commit that opens a batch', workflow: 'Crowd', moment: committing('wf_park_batch') },
  { name: 'a flush of members', workflow: 'Single', moment: sent('wf_settle_members') },
  { name: 'the commit of a join', workflow: 'Single', moment: committing('wf_count_members') },
].map(({ name, ...point }) => cut({ ...point, name: `cut before: ${name}` }));

/**
 * @param {object} point
 * @returns {Point}
 */
function cut(point) {
  return /** @type {Point} */ ({ ...point, shows: 'SWEEP-20', does: 'cut', follows: 'nothing' });
}

/** @type {readonly Point[]} */
export const POINTS = [...KILLS, ...FREEZES, ...CUTS, ...CUTS_BEFORE];

/** @type {readonly import('nestjs-pg-workflows').StallAction[]} */
export const STALL_ACTIONS = ['pause', 'reattempt', 'cancel'];
