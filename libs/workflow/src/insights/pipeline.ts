import type { StepDefinition, WorkflowDefinition } from '../definition/definition.js';
import { matcherName, nameAlone } from '../definition/signal.js';
import type { ClassNumbers, Standing } from './class-numbers.js';
import type { PipelineStep } from './definition-views.js';
import type { Links } from './links.js';
import { stepStats } from './percentiles.js';
import { durationText } from './time-text.js';

/** How a run stands, as a pipeline calls it. */
const KINDS = { scheduled: 'ready', running: 'performing', waiting: 'waiting', paused: 'paused' } as const;

/** The names of a class's steps: those it declares, in their order; then those that only the tables have, in the order in which they were met. */
export function stepNames(
  definition: WorkflowDefinition | undefined,
  { steps }: Pick<ClassNumbers, 'steps'>,
  standing: readonly Standing[],
): string[] {
  const declared = definition?.steps.map(({ name }) => name) ?? [];
  return [...new Set([...declared, ...steps.map(({ step }) => step), ...standing.map(({ step }) => step)])];
}

export function pipelineOf(
  names: readonly string[],
  definition: WorkflowDefinition | undefined,
  { steps }: Pick<ClassNumbers, 'steps'>,
  standing: readonly Standing[],
  links: Links,
): PipelineStep[] {
  const numbers = new Map(steps.map((step) => [step.step, step]));
  return names.map((name) => {
    const declared = definition?.step(name);
    const at = (kind: keyof typeof KINDS) => {
      const state = KINDS[kind];
      const runs = standing.find(({ step, status }) => step === name && status === state)?.runs ?? 0;
      return links.runs(runs, { state, step: name });
    };
    return {
      step: name,
      kind: declared?.kind ?? null,
      wait_for: waitForText(declared),
      wait_timeout: waitTimeoutText(declared),
      now: { scheduled: at('scheduled'), running: at('running'), waiting: at('waiting'), paused: at('paused') },
      stats: stepStats(numbers.get(name)),
    };
  });
}

function waitForText(step: StepDefinition | undefined): string | null {
  if (!step?.waitFor) return null;
  const name = nameAlone(step.waitFor);
  return name === null ? `signal that matches "${matcherName(step.waitFor)}"` : `signal "${name}"`;
}

function waitTimeoutText(step: StepDefinition | undefined): string | null {
  const timeout = step?.waitTimeout ?? null;
  if (timeout === null) return null;
  return typeof timeout === 'number' ? durationText(timeout) : 'dynamic (per run)';
}
