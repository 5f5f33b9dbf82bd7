import { inspect } from 'node:util';
import { WorkflowDefinitionError } from '../errors.js';

/** Who said the thing that is wrong: a class (or a signal, a job), and the step if it was said there. */
export interface Place {
  readonly owner: string;
  readonly step?: string;
}

/** `OrderWorkflow, step "capture": <what>`. */
export function definitionError(place: Place, what: string): WorkflowDefinitionError {
  const step = place.step === undefined ? '' : `, step ${shown(place.step)}`;
  return new WorkflowDefinitionError(`${place.owner}${step}: ${what}`);
}

/** `OrderWorkflow, step "capture": "onTimeout" is "explode"; allowed: pause, cancel, skip, run, notify.` */
export function badOption(
  place: Place,
  option: string,
  value: unknown,
  allowed: string | readonly string[],
): WorkflowDefinitionError {
  return definitionError(place, `"${option}" is ${shown(value)}; allowed: ${listed(allowed)}.`);
}

/** `OrderWorkflow, step "capture": "onTimout" is "pause", but a step has no such option; allowed: wait, skipIf, ….` */
export function unknownOption(
  place: Place,
  option: string,
  value: unknown,
  bearer: string,
  allowed: readonly string[],
): WorkflowDefinitionError {
  return definitionError(
    place,
    `"${option}" is ${shown(value)}, but ${bearer} has no such option; allowed: ${listed(allowed)}.`,
  );
}

/** What a class is called in messages. */
export function classLabel(target: { readonly name: string }): string {
  return target.name || '(anonymous class)';
}

const LONGEST_SHOWN = 80;

/** A value as it stands in a message: short, on one line, and never throwing whatever it is. */
export function shown(value: unknown): string {
  const text = written(value).replace(/\s+/g, ' ');
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN - 1)}…` : text;
}

function written(value: unknown): string {
  try {
    if (typeof value === 'string') return JSON.stringify(value.slice(0, LONGEST_SHOWN + 1));
    return inspect(value, {
      depth: 1,
      breakLength: Infinity,
      customInspect: false,
      maxArrayLength: 5,
      maxStringLength: 60,
    });
  } catch {
    return `a value of type ${typeof value}`;
  }
}

function listed(allowed: string | readonly string[]): string {
  return typeof allowed === 'string' ? allowed : allowed.join(', ');
}
