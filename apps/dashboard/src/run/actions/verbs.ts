import type { RunStatus, ShownRun, Verb } from '../../api/types';

interface VerbWords {
  /** On the button. */
  readonly label: (run: ShownRun) => string;
  /** What will happen. */
  readonly says: string;
  readonly isDangerous?: boolean;
}

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** The verbs in words. */
export const VERBS: Readonly<Record<Verb, VerbWords>> = {
  resume: {
    label: ({ resume_label }) => (resume_label === null ? 'Resume' : `Resume: ${lower(resume_label)}`),
    says: 'The run goes on from where it was paused.',
  },
  resume_at: {
    label: () => 'Resume at …',
    says: 'The run goes on with the step you choose, even if that had completed, and runs the steps after it again.',
  },
  pause: {
    label: () => 'Pause',
    says: 'Nothing more of the run is begun until somebody resumes it. A step that is at work goes on to its end.',
  },
  cancel: {
    label: () => 'Cancel run',
    says: 'The run ends here. A step that is at work is asked to stop, and what it comes to is ignored. This cannot be undone.',
    isDangerous: true,
  },
  skip: {
    label: () => 'Skip step',
    says: 'The step that the run waits at is passed over, without running.',
  },
  run_now: { label: () => 'Run now', says: 'The scheduled step is due at once.' },
  reschedule: { label: () => 'Reschedule', says: 'The scheduled step is due at the time you choose.' },
  signal: { label: () => 'Send signal', says: 'The signal is stored with the run; a step that waits for it is woken.' },
  rerun: {
    label: () => 'Run again',
    says: 'A new run is started, with the same subject and arguments. This one stays as it is.',
  },
};

/**
 * The status that an action depends on: when the run has another by then, nothing is done. A run that is at work goes from ready to performing and back by
 * itself, which is no news to whoever wants to pause or cancel it; and a signal is for the run wherever it is.
 */
export function expectedStatus(verb: Verb, seen: RunStatus): RunStatus | undefined {
  if (verb === 'signal') return undefined;
  const movesByItself = seen === 'ready' || seen === 'performing';
  if ((verb === 'pause' || verb === 'cancel') && movesByItself) return undefined;
  return seen;
}
