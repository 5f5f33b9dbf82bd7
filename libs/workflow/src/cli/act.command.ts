import { WorkflowError } from '../errors.js';
import type { RunView } from '../insights/views.js';
import { RUN_STATUSES, type RunStatus, type Verb } from '../model/states.js';
import { Acting, type Done, type VerbInput, type Why } from '../operating/acting.js';
import { MAX_REASON_LENGTH } from '../operating/input-rules.js';
import { outcomeOf } from './act-outcome.js';
import { actorOf } from './actor.js';
import type { Given } from './arguments.js';
import { CliError, EXIT, UsageError, type ExitCode } from './exit.js';
import { oneLine, type Output } from './output.js';
import { redacted } from './redact.js';
import type { Act, Prepare } from './session.js';
import { runLines } from './show.command.js';
import { payloadOf } from './signal-payload.js';

/** `resume`, or `resume --at`. */
export const resume: Prepare = (given) => {
  const step = given.texts.get('at');
  return step === undefined ? acting(given, 'resume', {}) : acting(given, 'resume_at', { step });
};

/** `cancel`. */
export const cancel: Prepare = (given) => acting(given, 'cancel', {});

/** `signal`. */
export const signal: Prepare = async (given) => {
  const payload = await payloadOf(given.texts);
  const key = given.texts.get('idempotency-key') ?? null;
  if (key === '') throw new UsageError("--idempotency-key is empty; give one that is the delivery's own, or none.");
  return acting(given, 'signal', { name: given.positionals[1]!, payload, idempotency_key: key });
};

/** Does it, and tells what became of the run: `{ ok, reason, run }`, as REST does. */
function acting<V extends Verb>(given: Given, verb: V, input: VerbInput[V]): Act {
  const id = given.positionals[0]!;
  const why = whyOf(given);
  const actor = actorOf(given.texts.get('actor'));
  return async ({ service, out, reads, json, sending }) => {
    const view = async () => {
      const read = await reads.run(id);
      return given.flags.has('payloads') ? read : redacted(read);
    };
    const calls = new Acting(service);
    const found = await calls.find(id);
    let done: Done;
    sending(id);
    try {
      done = await calls.perform(verb, found, { ...input, ...why }, actor);
    } catch (error) {
      if (!(error instanceof WorkflowError)) throw outcomeOf(error, id);
      return refused(error, await view(), out, json);
    }
    // It was done, whatever comes of the look at the run.
    const run = await view().catch(() => null);
    if (json) {
      await out.json({ ok: true, reason: done.reason, ...done.more, run });
      return EXIT.fine;
    }
    await out.line(`${out.paint('green', '✓')} ${oneLine(`${done.reason} ${run?.class ?? 'Run'} ${id}`)}`);
    if (run === null) return EXIT.fine;
    for (const line of runLines(run, new Date(run.read_at))) await out.line(line);
    return EXIT.fine;
  };
}

/** The verb was understood, but is not legal where the run is now. */
async function refused({ code, message }: WorkflowError, run: RunView, out: Output, json: boolean): Promise<ExitCode> {
  const reason = `${message} The run now: ${run.now}`;
  if (!json) throw new CliError(code, reason, EXIT.refused);
  out.exitCode = EXIT.refused;
  await out.json({ ok: false, code, reason, run });
  return EXIT.refused;
}

/** @throws {UsageError} */
function whyOf({ texts }: Given): Why {
  const reason = texts.get('reason') ?? null;
  const expected = texts.get('expected-status') ?? null;
  if (reason !== null && reason.length > MAX_REASON_LENGTH) {
    throw new UsageError(`--reason has ${reason.length} characters; at most ${MAX_REASON_LENGTH} are allowed.`);
  }
  if (expected !== null && !RUN_STATUSES.includes(expected as RunStatus)) {
    throw new UsageError(`--expected-status is "${expected}"; allowed: ${RUN_STATUSES.join(', ')}.`);
  }
  return { reason, expected_status: expected as RunStatus | null };
}
