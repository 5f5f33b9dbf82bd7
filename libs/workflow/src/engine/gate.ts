import { call } from '../definition/callable.js';
import type { StepDefinition } from '../definition/definition.js';
import { fits, type ReceivedSignal, type SignalMatcher } from '../definition/signal.js';
import { toDeadline, type WaitDeadline } from '../definition/wait-timeout.js';
import { deserialize } from '../model/payload.js';
import type { Connection } from '../store/connection.js';
import { runById, stepRow, type RunRow, type StepRow } from '../store/run.js';
import { heldSignal, pendingSignals, type SignalRow } from '../store/signals.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';
import type { LiveContext } from './live-context.js';

interface Delivered {
  readonly row: SignalRow;
  readonly signal: ReceivedSignal;
}

/**
 * Where a `waitFor` step looks for its signal, on each claim and under the run's lock. What was there when it was opened is what the
 * whole attempt sees: a signal that comes during the body flips no answer.
 *
 * A signal that the step already holds (it woke this row, or an earlier attempt took it and was reattempted or failed into a pause) is its
 * signal, without matching. A row that its deadline woke takes none.
 */
export class Gate {
  private looking: Promise<Delivered | null> | undefined;
  private fitting: Delivered | null = null;
  private passed = false;

  private constructor(
    private readonly waitFor: SignalMatcher,
    readonly timedOut: boolean,
    private readonly held: Delivered | null,
    private readonly look: (fits: (signal: ReceivedSignal) => boolean) => Promise<Delivered | null>,
  ) {}

  static async open(
    { subjects }: EngineParts,
    connection: Connection,
    run: RunRow,
    row: StepRow,
    waitFor: SignalMatcher,
  ): Promise<Gate> {
    const load = (reference: { type: string; id: string }) => subjects.load(reference, connection.manager);
    const read = async (signal: SignalRow): Promise<Delivered> => ({
      row: signal,
      signal: { name: signal.name, payload: await deserialize(signal.payload, { load }) },
    });
    if (row.timed_out) return new Gate(waitFor, true, null, () => Promise.resolve(null));
    const held = await heldSignal(connection, run.id, row.step_name);
    if (held) return new Gate(waitFor, false, await read(held), () => Promise.resolve(null));
    // One by one, until one fits: a run may have been sent thousands.
    return new Gate(waitFor, false, null, async (accepts) => {
      for (let page = await pendingSignals(connection, run.id, '0'); page.length;) {
        for (const pending of page) {
          const delivered = await read(pending);
          if (accepts(delivered.signal)) return delivered;
        }
        page = await pendingSignals(connection, run.id, page.at(-1)!.id);
      }
      return null;
    });
  }

  /**
   * Of an attempt that was claimed with the signal that woke it.
   *
   * @throws when an entity in its payload cannot be loaded
   */
  static async holding({ subjects }: EngineParts, waitFor: SignalMatcher, row: SignalRow): Promise<Gate> {
    const load = (reference: { type: string; id: string }) => subjects.load(reference);
    const payload = await deserialize(row.payload, { load });
    const gate = new Gate(waitFor, false, { row, signal: { name: row.name, payload } }, () => Promise.resolve(null));
    gate.close();
    return gate;
  }

  /** A signal is held already. */
  get woken(): boolean {
    return this.held !== null;
  }

  /**
   * The signal to run with: the held one, else the oldest pending one that fits; null: there is none. Looked for once, while the claim's
   * transaction is open. Takes none. May throw: the matcher is the application's code.
   */
  async find(): Promise<SignalRow | null> {
    this.looking ??= this.held
      ? Promise.resolve(this.held)
      : this.look((signal) => fits(this.waitFor, signal)).then((found) => (this.fitting = found));
    return (await this.looking)?.row ?? null;
  }

  /** What the step has: until the gate was passed, only what it held before. */
  get signal(): ReceivedSignal | null {
    return (this.held ?? (this.passed ? this.fitting : null))?.signal ?? null;
  }

  /** The attempt took its signal, and its body is to run. */
  pass(): void {
    this.passed = true;
  }

  /** The claim's transaction ends: what was not looked for by now is not there for this attempt. */
  close(): void {
    this.looking ??= Promise.resolve(this.held);
  }
}

/** The deadline of a wait, asked when it parks (and, under `notify`, at each notice). */
export async function deadlineOf(
  step: StepDefinition,
  instance: object,
  context: LiveContext,
): Promise<WaitDeadline | null> {
  const { waitTimeout } = step;
  if (waitTimeout === null) return null;
  if (typeof waitTimeout === 'number') return { after: waitTimeout };
  return toDeadline(await call(waitTimeout, instance, context), { owner: context.workflowName, step: step.name });
}

/** Gives an attempt that was begun for us the signal it took with its claim. */
export async function holdSignal(parts: EngineParts, attempt: Attempt): Promise<void> {
  const { waitFor } = attempt.step;
  await parts.database.engineConnect(async (connection) => {
    const run = await runById(connection, attempt.row.workflowId);
    const row = await stepRow(connection, attempt.row.id);
    if (run && row && waitFor) attempt.gate = await Gate.open(parts, connection, run, row, waitFor);
  });
  attempt.gate?.close();
  attempt.gate?.pass();
}
