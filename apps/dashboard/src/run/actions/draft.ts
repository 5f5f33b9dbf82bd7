import type { RunStatus, ShownRun, Verb } from '../../api/types';
import { fromLocalInput, toLocalInput } from '../../parts/local-time';
import { newKey } from './new-key';
import { readPayload } from './payload';
import { expectedStatus } from './verbs';

/** A form that was opened, and what was typed into it. */
export interface Draft {
  readonly verb: Verb;
  /** The status that the run was seen in. */
  readonly seen: RunStatus;
  readonly reason: string;
  readonly step: string;
  readonly at: string;
  readonly name: string;
  readonly payload: string;
  /** Made once for each form: however often it is sent, it is one signal. */
  readonly key: string;
}

export type DraftField = 'reason' | 'step' | 'at' | 'name' | 'payload';
export type DraftErrors = Partial<Record<DraftField, string>>;

export function openDraft(verb: Verb, run: ShownRun): Draft {
  const waitsFor = run.attempts.find(({ step, status }) => step === run.step && status === 'waiting')?.wait_for;
  return {
    verb,
    seen: run.status,
    reason: '',
    step: run.steps.includes(run.step) ? run.step : (run.steps[0] ?? ''),
    at: toLocalInput(run.read_at).slice(0, 16),
    name: waitsFor ?? '',
    payload: '{}',
    key: newKey(),
  };
}

/** The request's body, or what is wrong, by field. */
export function bodyOf(draft: Draft): { readonly body: object } | { readonly errors: DraftErrors } {
  const expected = expectedStatus(draft.verb, draft.seen);
  const common = { reason: draft.reason, ...(expected && { expected_status: expected }) };
  if (draft.verb === 'resume_at') {
    return draft.step ? { body: { ...common, step: draft.step } } : { errors: { step: 'Choose a step.' } };
  }
  if (draft.verb === 'reschedule') {
    const at = fromLocalInput(draft.at);
    return at ? { body: { ...common, at } } : { errors: { at: 'Choose a day and a time.' } };
  }
  if (draft.verb !== 'signal') return { body: common };
  const name = draft.name.trim();
  const payload = readPayload(draft.payload);
  const errors: DraftErrors = {
    ...(name === '' && { name: 'A signal has a name.' }),
    ...('error' in payload && { payload: payload.error }),
  };
  if ('error' in payload || name === '') return { errors };
  return { body: { ...common, name, payload: payload.value, idempotency_key: draft.key } };
}
