import type { WorkflowDefinition } from '../definition/definition.js';
import type { RunStatus } from '../model/states.js';
import type { Subjects } from '../registry/subjects.js';
import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { InFlight, StandingRuns } from './deploy-reads.js';

/** What a deploy of this build would break. */
type FindingKind =
  | 'schema'
  | 'class_not_loaded'
  | 'step_not_declared'
  | 'step_does_not_wait'
  | 'step_waits_for_other'
  | 'job_not_loaded'
  | 'subject_not_loadable';

/** What is worth knowing, and breaks nothing. */
type NoteKind = 'schema' | 'on_gravestone' | 'gravestone_free' | 'began_on_other_steps' | 'asks_matcher';

interface Told<Kind> {
  readonly kind: Kind;
  readonly class?: string;
  readonly step?: string;
  readonly job?: string;
  readonly subject_type?: string;
  /** How many runs it concerns. */
  readonly runs?: number;
  readonly by_status?: Readonly<Partial<Record<RunStatus, number>>>;
  /** What it is. */
  readonly text: string;
  /** What to do. */
  readonly advice?: string;
}

export type Finding = Told<FindingKind>;
export type Note = Told<NoteKind>;

export function classesNotLoaded(registry: WorkflowRegistry, standing: readonly StandingRuns[]): Finding[] {
  const names = [...new Set(standing.map((row) => row.workflow_class))].filter((name) => !registry.get(name));
  return names.map((name) => {
    const rows = standing.filter((row) => row.workflow_class === name);
    return {
      kind: 'class_not_loaded',
      class: name,
      runs: total(rows),
      by_status: byStatus(rows),
      text: `${inWords(rows, name)} under way, and this build does not have the class. Nobody would go on with ${itOrThem(total(rows))}.`,
      advice:
        `Keep the class until ${total(rows) === 1 ? 'it has' : 'they have'} ended, or give the renamed one its old name with @Workflow({ name: '${name}' }). If another application on these ` +
        `tables has it: --ignore ${name}`,
    };
  });
}

export function jobsNotLoaded(
  registry: WorkflowRegistry,
  { members }: InFlight,
  ignored: ReadonlySet<string>,
): Finding[] {
  // A batch that is on a gravestone is passed over, and its members are not needed.
  const needed = members.filter(
    ({ job, workflow_class, step }) =>
      !registry.job(job) &&
      !ignored.has(job) &&
      registry.get(workflow_class)?.definition.step(step)?.kind !== 'removed',
  );
  return [...new Set(needed.map(({ job }) => job))].map((job) => {
    const rows = needed.filter((row) => row.job === job);
    const open = rows.reduce((sum, row) => sum + row.members, 0);
    const runs = total(rows);
    return {
      kind: 'job_not_loaded',
      job,
      runs,
      text:
        `${counted(open, 'fan-out member')} of ${counted(runs, 'run')} ${open === 1 ? 'is' : 'are'} for the job ${job}, which this build does not have. Nobody ` +
        `would run ${itOrThem(open)}, and ${runs === 1 ? 'the batch' : 'their batches'} would not end.`,
      advice:
        `Keep the handler until ${open === 1 ? 'it has' : 'they have'} ended, or give the renamed one its old name with @WorkflowJob({ name: '${job}' }). If ` +
        `another application on these tables has it: --ignore ${job}`,
    };
  });
}

export function stepsNotDeclared(definition: WorkflowDefinition, standing: readonly StandingRuns[]): Finding[] {
  const own = standing.filter((row) => row.workflow_class === definition.name);
  const steps = [...new Set(own.map((row) => row.step))].filter((name) => !definition.step(name));
  return steps.map((step) => {
    const rows = own.filter((row) => row.step === step);
    return {
      kind: 'step_not_declared',
      class: definition.name,
      step,
      runs: total(rows),
      by_status: byStatus(rows),
      text: `${inWords(rows, definition.name)} at step "${step}", which this build does not declare. A run is paused when it comes to such a step.`,
      advice: `Put a gravestone in its place (@RemovedStep() ${step}?: never) to have it passed over, or keep the step until nobody stands on it.`,
    };
  });
}

export function subjectsNotLoadable(registry: WorkflowRegistry, subjects: Subjects, inFlight: InFlight): Finding[] {
  return inFlight.subjects
    .filter(({ workflow_class, subject_type }) => registry.get(workflow_class) && !subjects.canLoad(subject_type))
    .map(({ workflow_class, subject_type, runs }) => ({
      kind: 'subject_not_loadable',
      class: workflow_class,
      subject_type,
      runs,
      text:
        `${counted(runs, 'run')} of ${workflow_class} ${runs === 1 ? 'is' : 'are'} about ${subject_type}, which this build cannot load: no DataSource has an ` +
        `entity of that name, and no @SubjectLoader is for it. ${runs === 1 ? 'Its next step' : 'Their next steps'} would fail.`,
      advice: `Keep the entity's class name (a table may be renamed), or write a @SubjectLoader for a class of the name ${subject_type}.`,
    }));
}

export function gravestones(definition: WorkflowDefinition, standing: readonly StandingRuns[]): Note[] {
  return definition.steps
    .filter(({ kind }) => kind === 'removed')
    .map(({ name }) => {
      const rows = standing.filter((row) => row.workflow_class === definition.name && row.step === name);
      const about = { class: definition.name, step: name, runs: total(rows) };
      return rows.length > 0
        ? {
            ...about,
            kind: 'on_gravestone',
            by_status: byStatus(rows),
            text: `${inWords(rows, definition.name)} at the removed step "${name}", and will pass over it. Leave its gravestone where it is.`,
          }
        : {
            ...about,
            kind: 'gravestone_free',
            text:
              `No run of ${definition.name} stands on the removed step "${name}". Once every process runs a build with its gravestone, the next build may ` +
              'do without it.',
          };
    });
}

export function onOtherSteps(definition: WorkflowDefinition, standing: readonly StandingRuns[]): Note[] {
  const own = standing.filter((row) => row.workflow_class === definition.name);
  const others = total(own.filter((row) => row.digest !== definition.digest));
  if (others === 0) return [];
  return [
    {
      kind: 'began_on_other_steps',
      class: definition.name,
      runs: others,
      text: `${counted(others, 'run')} of ${definition.name} began on another list of steps; from where they are they go on by this build's.`,
    },
  ];
}

/** `12 runs of OrderWorkflow (9 ready, 3 paused) are`. */
function inWords(rows: readonly StandingRuns[], workflow: string): string {
  const runs = total(rows);
  const statuses = Object.entries(byStatus(rows)).map(([status, count]) => `${count} ${status}`);
  return `${counted(runs, 'run')} of ${workflow} (${statuses.join(', ')}) ${runs === 1 ? 'is' : 'are'}`;
}

export function itOrThem(count: number): string {
  return count === 1 ? 'it' : 'them';
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function total(rows: readonly { readonly runs: number }[]): number {
  return rows.reduce((sum, { runs }) => sum + runs, 0);
}

function byStatus(rows: readonly StandingRuns[]): Partial<Record<RunStatus, number>> {
  const counts: Partial<Record<RunStatus, number>> = {};
  for (const { status, runs } of rows) counts[status] = (counts[status] ?? 0) + runs;
  return counts;
}
