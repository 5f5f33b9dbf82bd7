import type { AttentionGroup } from '../api/types';

/** What tells groups apart. */
export function idOfGroup({ class: workflow, step, reason, error_class: error }: AttentionGroup): string {
  return JSON.stringify([workflow, step, reason, error]);
}

/** Parameters of the run list that show exactly its runs. Without an error class there is none to ask for: its reason has none. */
export function filterOfGroup({ class: workflow, step, reason, error_class: error }: AttentionGroup) {
  return { class: workflow, step, stuck_reason: reason, ...(error !== null && { error_class: error }) };
}

/** The same, as a press sends it. */
export function bodyOfGroup({ class: workflow, step, reason, error_class }: AttentionGroup, why: string) {
  return { class: workflow, step, stuck_reason: reason, error_class, reason: why };
}
