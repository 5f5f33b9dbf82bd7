import type { WorkflowDefinition } from '../definition/definition.js';
import { matcherName, nameAlone } from '../definition/signal.js';
import { counted, itOrThem, total, type Finding, type Note } from './deploy-findings.js';
import type { InFlight } from './deploy-reads.js';

export function stepsThatDoNotWait(definition: WorkflowDefinition, inFlight: InFlight): Finding[] {
  const stranded = waitsOf(definition, inFlight).filter(({ waitFor }) => waitFor === null);
  return [...new Set(stranded.map(({ step }) => step))].map((step) => {
    const runs = total(stranded.filter((row) => row.step === step));
    return {
      kind: 'step_does_not_wait',
      class: definition.name,
      step,
      runs,
      text:
        `${counted(runs, 'run')} of ${definition.name} ${runs === 1 ? 'waits' : 'wait'} for a signal at step "${step}", which waits for none in this build. ` +
        'A run that waits there is paused.',
      advice: `Keep its waitFor until nobody waits there, or resume ${itOrThem(runs)} after the deploy: the step then runs without its signal.`,
    };
  });
}

/** A run that waits is asked about by what its step waits for in the build that the signal comes to: the old name wakes it no more. */
export function stepsThatWaitForOthers(definition: WorkflowDefinition, inFlight: InFlight): Finding[] {
  return waitsOf(definition, inFlight).flatMap(({ step, waitFor, wait_for: was, runs }) => {
    const name = waitFor && nameAlone(waitFor);
    if (name === null || was === null || name === was) return [];
    return {
      kind: 'step_waits_for_other',
      class: definition.name,
      step,
      runs,
      text:
        `${counted(runs, 'run')} of ${definition.name} ${runs === 1 ? 'waits' : 'wait'} for signal "${was}" at step "${step}", which waits for "${name}" in ` +
        `this build. "${was}" would be kept, and wake nobody.`,
      advice: `Take both names until nobody sends "${was}" any more: waitFor: { name: '${name}', matches: ({ name }) => ['${was}', '${name}'].includes(name) }`,
    };
  });
}

/** What a matcher of the application's takes is for its code to say. */
export function matchersOfOthers(definition: WorkflowDefinition, inFlight: InFlight): Note[] {
  return waitsOf(definition, inFlight).flatMap(({ step, waitFor, wait_for: was, runs }) => {
    if (waitFor === null || nameAlone(waitFor) !== null || was === null || matcherName(waitFor) === was) return [];
    return {
      kind: 'asks_matcher',
      class: definition.name,
      step,
      runs,
      text:
        `${counted(runs, 'run')} of ${definition.name} ${runs === 1 ? 'waits' : 'wait'} for "${was}" at step "${step}", where this build asks its matcher ` +
        `"${matcherName(waitFor)}". See that it takes what is still sent.`,
    };
  });
}

/** Where runs of the class wait for a signal, and what their steps wait for in this build. */
function waitsOf(definition: WorkflowDefinition, { waiting }: InFlight) {
  return waiting.flatMap((row) => {
    const step = row.workflow_class === definition.name ? definition.step(row.step) : undefined;
    return step === undefined || step.kind === 'removed' ? [] : [{ ...row, waitFor: step.waitFor }];
  });
}
