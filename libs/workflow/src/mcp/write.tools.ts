import { InvalidTransitionError } from '../errors.js';
import type { Verb } from '../model/states.js';
import { adminRunOf } from '../operating/access.js';
import type { VerbInput, Why } from '../operating/acting.js';
import { Refusal } from '../operating/refusal.js';
import type { RunRow } from '../store/run.js';
import { assertExpected, assertLegal } from '../transition/verbs.js';
import { ACTED } from './answer-schemas.js';
import { Boundary } from './boundary.js';
import { failureOf, UNEXPECTED } from './failure.js';
import { inputSchemaOf, readArguments } from './read-arguments.js';
import { answerOf, type Tool, type ToolAnswer, type ToolCall, type ToolParts } from './tool.js';
import { ActInput, ResumeAtInput, SignalInput } from './write.inputs.js';

const ANSWER =
  'Answers { ok, reason, workflow }: ok false means that nothing was done, "reason" says why, "allowed" what would be accepted; "workflow" is the run ' +
  'afterwards. After an error that does not say what happened read the run before you call again. It acts on one run, and changes the record of a business: call it only when the user wants just this.';

interface WriteTool<V extends Verb> {
  readonly name: string;
  readonly verb: V;
  readonly title: string;
  readonly description: string;
  readonly input: new () => ActInput & VerbInput[V];
  readonly idempotent?: true;
}

/** The tools that act: each the same guarded verb as a button of the dashboard. */
export function writeTools(parts: ToolParts): Tool[] {
  return [
    tool(parts, {
      name: 'workflow_resume',
      verb: 'resume',
      title: 'Resume a paused run',
      description:
        'Lets a paused run go on: a failed step is tried again ("resume_label" of the run says what would happen). Check before: status is paused, ' +
        '"available_actions" has "resume", and what made the step fail has been put right. If whatever the step did may have taken effect already, ask first.',
      input: ActInput,
    }),
    tool(parts, {
      name: 'workflow_cancel',
      verb: 'cancel',
      title: 'Cancel a run',
      description:
        'Ends an ongoing run for good: no later step runs, and it cannot be taken back. Check before: "available_actions" has "cancel", and what the steps ' +
        'so far have done may stay as it is, for nothing is undone.',
      input: ActInput,
      idempotent: true,
    }),
    tool(parts, {
      name: 'workflow_skip_step',
      verb: 'skip',
      title: 'Skip the step that a run waits at',
      description:
        'Passes over the step that a waiting run waits at, and goes on with the next one, as if the signal did not matter. Check before: status is waiting, ' +
        '"available_actions" has "skip". Prefer workflow_signal when what is waited for has happened.',
      input: ActInput,
    }),
    tool(parts, {
      name: 'workflow_resume_at',
      verb: 'resume_at',
      title: 'Resume a paused run at a step',
      description:
        'Lets a paused run go on at "step", even if that had completed, and the steps after it again: their effects may happen twice. Check before: status ' +
        'is paused, "available_actions" has "resume_at", "step" is one of "steps" of the run.',
      input: ResumeAtInput,
    }),
    tool(parts, {
      name: 'workflow_run_now',
      verb: 'run_now',
      title: 'Run the scheduled step now',
      description:
        'Makes the scheduled step of a ready run due at once, instead of waiting for its time. Check before: status is ready, "available_actions" has ' +
        '"run_now".',
      input: ActInput,
    }),
    tool(parts, {
      name: 'workflow_signal',
      verb: 'signal',
      title: 'Send a run a signal',
      description:
        'Sends an ongoing run a signal by its name: a step that waits for it ("wait_for" of its newest attempt) is woken, else it is kept for a later step. ' +
        'Check before: "available_actions" has "signal", and what the signal says has really happened. Give an "idempotency_key" to be able to repeat the call.',
      input: SignalInput,
    }),
  ];
}

function tool<V extends Verb>(
  parts: ToolParts,
  { name, verb, title, description, input, idempotent }: WriteTool<V>,
): Tool {
  return {
    listed: {
      name,
      title,
      description: `${description} ${ANSWER}`,
      inputSchema: inputSchemaOf(input),
      outputSchema: ACTED,
      annotations: {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: idempotent ?? false,
        openWorldHint: false,
      },
    },
    call: async (call) => {
      let run: RunRow | undefined;
      try {
        const given = await readArguments(input, call.given);
        given.reason = given.reason.trim();
        assertFits(given, parts.maxPayloadSize);
        run = await parts.acting.find(given.workflow_id);
        await parts.access.assertMay(call.request, verb, adminRunOf(run));
        return await act(parts, call, name, verb, run, given);
      } catch (error) {
        return refused(parts, name, error, run);
      }
    },
  };
}

async function act<V extends Verb>(
  { access, acting, reads, unexpected }: ToolParts,
  { request, client }: ToolCall,
  name: string,
  verb: V,
  run: RunRow,
  input: VerbInput[V] & Why,
): Promise<ToolAnswer> {
  // Whether a delivery under the same key came before is the service's to find out: that one may have been what changed the status.
  const isKeyed = 'idempotency_key' in input && input.idempotency_key != null;
  if (!isKeyed) {
    assertExpected(verb, run, input.expected_status ?? undefined);
    assertLegal(verb, run);
  }
  const actor = await access.actorOf(request, client);
  const { reason, more } = await acting.perform(verb, run, input, actor);
  // It was done: that it cannot be read just now must not look as if it was not.
  const now = await reads.runs.run(run.id).catch((error: unknown) => (unexpected(name, error), null));
  return answerOf({ ok: true, reason, ...more, workflow: now && new Boundary(false).acted(now) });
}

/** The verb was understood and is not for the run as it is, or it is not this run's: an answer. Else: an error, as tools have them. */
async function refused(parts: ToolParts, name: string, error: unknown, run: RunRow | undefined): Promise<ToolAnswer> {
  const failure = failureOf(error);
  if (!failure) {
    parts.unexpected(name, error);
    return { ...answerOf({ ok: false, reason: UNEXPECTED, workflow: null }), isError: true };
  }
  const { code, message: reason, statusCode, field } = failure;
  const isAnswer = statusCode === 404 || statusCode === 409;
  const allowed = error instanceof InvalidTransitionError ? { allowed: error.allowed } : {};
  // Whoever may not act on the run is not shown it for that.
  const now = isAnswer && run ? await parts.reads.runs.run(run.id).catch(() => null) : null;
  const body = {
    ok: false,
    code,
    reason: now ? `${reason} The run now: ${now.now}` : reason,
    ...(field !== undefined && { field }),
    ...(now && { status: now.status }),
    ...allowed,
    workflow: now && new Boundary(false).acted(now),
  };
  return { ...answerOf(body), ...(!isAnswer && { isError: true }) };
}

/** @throws {Refusal} 413 */
function assertFits(input: object, most: number): void {
  if (!('payload' in input) || input.payload === undefined) return;
  const bytes = Buffer.byteLength(JSON.stringify(input.payload));
  if (bytes <= most) return;
  throw new Refusal(
    413,
    'PAYLOAD_TOO_LARGE',
    `payload has ${bytes} bytes of JSON, more than the ${most} allowed.`,
    'payload',
  );
}
