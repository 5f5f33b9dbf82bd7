import { publish } from '../observe/channels.js';
import { insertRuns, ongoingRunOf, runByKey, type NewRun, type StartOf } from '../store/start.js';
import { runById, type RunRow } from '../store/run.js';
import type { Transaction } from '../store/transaction.js';

/** What became of one start. */
export type Started =
  | { readonly kind: 'started' }
  /** The key was used before: its run, whatever its status. */
  | { readonly kind: 'duplicate'; readonly run: RunRow }
  /** The subject's slot is held by this run. */
  | { readonly kind: 'busy'; readonly run: RunRow };

/** A statement's worth of runs: enough to spread the round trip, small enough for the server's memory. */
const CHUNK_RUNS = 250;
const CHUNK_BYTES = 4 * 1024 * 1024;
/** A run in the way can end between the insert and the look: then there is room now. */
const TRIES = 10;

/**
 * Starts runs in the transaction given; the answers are in the order of `runs`. Nothing is raised by the database when a
 * key or a slot is taken. When one is `busy`, the caller rolls back what the others wrote.
 */
export async function startRuns(transaction: Transaction, of: StartOf, runs: readonly NewRun[]): Promise<Started[]> {
  const answers = new Map<NewRun, Started>();
  let left: readonly NewRun[] = runs.toSorted(inOneOrder);
  for (let attempt = 1; left.length; attempt += 1) {
    const started = await insertAll(transaction, of, left);
    for (const run of left) if (started.has(run.id)) answers.set(run, { kind: 'started' });
    const missing = left.filter((run) => !started.has(run.id));
    for (const run of missing) {
      const answer = await inTheWay(transaction, of, run);
      if (answer) answers.set(run, answer);
    }
    left = missing.filter((run) => !answers.has(run));
    if (left.length && attempt === TRIES) {
      throw new Error(
        `${of.workflow}: the run in the way ended ${TRIES} times while this one was starting; start it again`,
      );
    }
  }
  const inOrder = runs.map((run) => answers.get(run)!);
  transaction.afterCommit(() => tellStarted(of, runs, inOrder));
  return inOrder;
}

function tellStarted({ workflow, rerunOf }: StartOf, runs: readonly NewRun[], answers: readonly Started[]): void {
  for (const [place, { id }] of runs.entries()) {
    if (answers[place]!.kind !== 'started') continue;
    publish('workflow.started', { workflowClass: workflow, workflowId: id, rerunOf });
  }
}

/** By subject, then key: two calls with the same subjects wait for one another, however they list them and over any number of statements. */
function inOneOrder(a: NewRun, b: NewRun): number {
  const places = [
    [a.subjectType, b.subjectType],
    [a.subjectId, b.subjectId],
    [a.idempotencyKey, b.idempotencyKey],
  ] as const;
  for (const [one, other] of places) {
    if (one !== other) return (one ?? '') < (other ?? '') ? -1 : 1;
  }
  return 0;
}

async function insertAll(transaction: Transaction, of: StartOf, runs: readonly NewRun[]): Promise<Set<string>> {
  const started = new Set<string>();
  let dueIn = Infinity;
  for (const chunk of chunksOf(runs)) {
    for (const row of await insertRuns(transaction.connection, of, chunk)) {
      started.add(row.id);
      dueIn = Math.min(dueIn, row.due_in);
    }
  }
  if (started.size) {
    const { queue, priority } = of.first;
    transaction.announce({ kind: 'due', queue, priority, dueIn, ...(started.size > 1 && { rows: started.size }) });
  }
  return started;
}

/**
 * The run itself is looked up first: it was sent before, and the answer was lost. The key is looked up before the slot: a retried request gets its run back
 * while that goes on.
 */
async function inTheWay(transaction: Transaction, of: StartOf, run: NewRun): Promise<Started | undefined> {
  if (await runById(transaction.connection, run.id)) return { kind: 'started' };
  if (run.idempotencyKey !== null) {
    const duplicate = await runByKey(transaction.connection, of.workflow, run.idempotencyKey);
    if (duplicate) return { kind: 'duplicate', run: duplicate };
  }
  if (run.subjectType === null || run.subjectId === null) return undefined;
  const subject = { type: run.subjectType, id: run.subjectId };
  const holder = await ongoingRunOf(transaction.connection, of.workflow, subject);
  return holder && { kind: 'busy', run: holder };
}

function* chunksOf(runs: readonly NewRun[]): Generator<NewRun[]> {
  let chunk: NewRun[] = [];
  let bytes = 0;
  for (const run of runs) {
    if (chunk.length === CHUNK_RUNS || (chunk.length && bytes + run.args.length > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(run);
    bytes += run.args.length;
  }
  if (chunk.length) yield chunk;
}
