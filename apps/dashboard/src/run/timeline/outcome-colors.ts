import type { AttemptView, StepOutcome } from '../../api/types';

/** What an attempt came to, as colour and as word. */
export const OUTCOMES: Readonly<Record<StepOutcome | 'open', { readonly color: string; readonly word: string }>> = {
  open: { color: 'var(--mantine-color-blue-6)', word: 'goes on' },
  completed: { color: 'var(--mantine-color-green-7)', word: 'completed' },
  finished: { color: 'var(--mantine-color-teal-8)', word: 'finished the run' },
  skipped: { color: 'var(--mantine-color-gray-6)', word: 'skipped' },
  reattempted: { color: 'var(--mantine-color-yellow-7)', word: 'failed, tried again' },
  paused: { color: 'var(--mantine-color-red-7)', word: 'paused the run' },
  cancelled: { color: 'var(--mantine-color-grape-6)', word: 'cancelled' },
};

export function outcomeOf({ outcome }: AttemptView) {
  return OUTCOMES[outcome ?? 'open'];
}
