import {
  availableActions,
  RUN_STATUSES,
  STEP_STATUSES,
  TRANSITIONS,
  type RunStatus,
  type StepStatus,
  type Transition,
} from '../../libs/workflow/src/model/states';

/** Writes the page anew. */
export const TRANSITIONS_COMMAND = 'npm run docs:transitions';

const RUN: Record<RunStatus, string> = {
  ready: 'Its next step is scheduled, now or later.',
  performing: 'A worker runs its step.',
  waiting: 'Its step waits for a signal or for its batch.',
  paused: 'Nothing is claimed until somebody resumes it.',
  finished: 'The last step ended, or a step said so.',
  cancelled: 'Ended before its last step, by a step or from outside.',
};

const STEP: Record<StepStatus, string> = {
  scheduled: 'To be claimed once it is due; never while its run is paused.',
  waiting: 'Waits for a signal or for its batch.',
  in_progress: 'A worker has it.',
  completed: 'Its body returned, or ended with `pause` or `finish`.',
  failed: 'An exception ended it, or `reattempt`.',
  cancelled: 'Its run was cancelled, or sent to another step.',
  skipped: 'Passed over: by a guard, a verb, a policy or a gravestone.',
};

/** `docs/transitions.md`, from the table that the code goes by. */
export function transitionsPage(): string {
  return `# What may happen to a run

<!-- Written from libs/workflow/src/model/states.ts by \`${TRANSITIONS_COMMAND}\`: change the table there, not this page. -->

A run has a status, and so has each attempt of its steps. A run changes in two ways: by a **verb**, which people and programs call
from outside, and by a **move**, which only the worker makes. Both are legal in some statuses and in no others. A verb that is not legal
is refused with \`InvalidTransitionError\` (\`resume\` and \`resume_at\`: \`NotPausedError\`) and changes nothing; a move that
comes too late, because somebody changed the run first, changes nothing either. Names stand here as they are stored and sent; in
TypeScript the verbs are camelCase (\`run.runNow()\`).

## Statuses of a run

${table(
  ['Status', 'Means', '`availableActions`, in this order'],
  RUN_STATUSES.map((status) => [code(status), RUN[status], codes(availableActions(status))]),
)}

## Statuses of an attempt

${table(
  ['Status', 'Means'],
  STEP_STATUSES.map((status) => [code(status), STEP[status]]),
)}

A run has at most one attempt that is \`scheduled\`, \`waiting\` or \`in_progress\`.

## Verbs

${table(['Verb', 'Legal in', 'Leaves the run', 'What it does'], rowsOf('outside'))}

## The worker's moves

None of them is ever among the \`availableActions\`.

${table(['Move', 'From', 'To', 'What happened'], rowsOf('engine'))}
`;
}

function rowsOf(by: Transition['by']): string[][] {
  return TRANSITIONS.filter((row) => row.by === by).map((row) => [
    code(row.name),
    codes(row.from),
    codes(row.to),
    row.does,
  ]);
}

function code(name: string): string {
  return `\`${name}\``;
}

function codes(names: readonly string[]): string {
  return names.map(code).join(', ');
}

/** As Prettier sets it: columns as wide as their widest cell. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row.at(column)?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths.at(column) ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
