import { WorkflowError } from '../errors.js';
import type { RunView } from '../insights/views.js';
import { RUN_STATUSES, type RunStatus } from '../model/states.js';
import type { ExpectingOptions } from '../transition/by.js';
import { actorOf } from './actor.js';
import type { Given } from './arguments.js';
import { CliError, EXIT, UsageError, type ExitCode } from './exit.js';
import { oneLine, type Output } from './output.js';
import { redacted } from './redact.js';
import type { Act, Prepare, Session } from './session.js';
import { runLines } from './show.command.js';
import { payloadOf } from './signal-payload.js';

/** Nobody waits at a terminal until somebody's transaction lets the run go. */
const LOCK_TIMEOUT_MS = 3_000;
/** As REST has it. */
const MAX_REASON = 1_000;

/** What a verb did: words for whoever asked, and what else its answer has. */
interface Done {
  readonly reason: string;
  readonly more?: object;
}

/** `resume`, or `resume --at`. */
export const resume: Prepare = (given) => {
  const step = given.texts.get('at');
  return acting(given, async ({ access, id }, options) => {
    if (step === undefined) await access.resume(id, options);
    else await access.resumeAt(id, step, options);
    return { reason: step === undefined ? 'Resumed.' : `Resumed at step "${step}".` };
  });
};

/** `cancel`. */
export const cancel: Prepare = (given) =>
  acting(given, async ({ access, id }, options) => {
    await access.cancel(id, options);
    return { reason: 'Cancelled.' };
  });

/** `signal`. */
export const signal: Prepare = async (given) => {
  const payload = await payloadOf(given.texts);
  const name = given.positionals[1]!;
  const key = given.texts.get('idempotency-key');
  return acting(given, async ({ access, id }, options) => {
    const { workflow_class: workflow } = await access.read(id, await access.reader(undefined));
    const keyed = key === undefined ? options : { ...options, idempotencyKey: key };
    const sent = (await access.signal(id, access.declaredSignal(workflow, name), payload, keyed)).signal;
    const reason = sent.duplicateDelivery
      ? 'A signal with this idempotency key was sent before: nothing was stored.'
      : sent.status === 'pending'
        ? `Signal "${name}" was sent, and is kept: no step waits for it now.`
        : `Signal "${name}" was sent, and taken by the step that waited for it.`;
    return { reason, more: { signal_id: sent.id, duplicate_delivery: sent.duplicateDelivery } };
  });
};

/** The run, and what acts on it. */
interface Target {
  readonly id: string;
  readonly access: Session['service']['access'];
}

/** Does it, and tells what became of the run: `{ ok, reason, run }`, as REST does. */
function acting(given: Given, perform: (target: Target, options: ExpectingOptions) => Promise<Done>): Act {
  const id = given.positionals[0]!;
  const options = optionsOf(given);
  return async ({ service, out, reads, json }) => {
    const view = async () => {
      const read = await reads.run(id);
      return given.flags.has('payloads') ? read : redacted(read);
    };
    let done: Done;
    try {
      done = await perform({ id, access: service.access }, options);
    } catch (error) {
      if (!(error instanceof WorkflowError)) throw unknownOutcome(error, id);
      if (error.code === 'WORKFLOW_NOT_FOUND') throw error;
      return refused(error, await view(), out, json);
    }
    const run = await view();
    if (json) {
      await out.json({ ok: true, reason: done.reason, ...done.more, run });
      return EXIT.fine;
    }
    await out.line(`${out.paint('green', '✓')} ${oneLine(`${done.reason} ${run.class} ${run.id}`)}`);
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
function optionsOf({ texts }: Given): ExpectingOptions {
  const reason = texts.get('reason');
  const expected = texts.get('expected-status');
  if (reason !== undefined && reason.length > MAX_REASON) {
    throw new UsageError(`--reason has ${reason.length} characters; at most ${MAX_REASON} are allowed.`);
  }
  if (expected !== undefined && !RUN_STATUSES.includes(expected as RunStatus)) {
    throw new UsageError(`--expected-status is "${expected}"; allowed: ${RUN_STATUSES.join(', ')}.`);
  }
  return {
    actor: actorOf(texts.get('actor')),
    lockTimeout: LOCK_TIMEOUT_MS,
    ...(reason !== undefined && { reason }),
    ...(expected !== undefined && { expectedStatus: expected as RunStatus }),
  };
}

/** The connection was lost, say: what was asked may have been carried out. */
function unknownOutcome(error: unknown, id: string): CliError {
  return new CliError(
    'UNKNOWN_OUTCOME',
    `${(error as Error).message}. Whether it was done is not known: look with "show ${id}" before you try again.`,
    EXIT.unable,
    { cause: error },
  );
}
