import { validate } from 'class-validator';
import { fieldsOf } from './input-field.js';
import { invalid } from './refusal.js';

/**
 * What somebody gave, held to the rules of its class's fields.
 *
 * @param kind what whoever gave it calls a field: `query parameter`
 * @throws {Refusal} 400, naming the field
 */
export async function checkedInput<T extends object>(
  dto: new () => T,
  given: ReadonlyMap<string, unknown>,
  kind: 'query parameter' | 'field' | 'argument',
): Promise<T> {
  const known = fieldsOf(dto);
  for (const name of given.keys()) {
    if (known.has(name)) continue;
    const name100 = shortened(name);
    const are = known.size ? `there are: ${[...known.keys()].join(', ')}` : 'there is none to give';
    throw invalid(name100, `There is no ${kind} "${name100}"; ${are}.`);
  }
  // Not `plainToInstance`: values are what JSON or a query makes them, and a payload is not to be copied.
  const instance = Object.assign(new dto(), Object.fromEntries(given));
  const [problem] = await validate(instance, {
    stopAtFirstError: true,
    forbidUnknownValues: false,
    validationError: { target: false, value: false },
  });
  if (!problem) return instance;
  throw invalid(problem.property, `${Object.values(problem.constraints ?? {})[0] ?? `${problem.property} is wrong`}.`);
}

/** A field's name as it stands in a message: it may be anything. */
export function shortened(name: string): string {
  return name.length > 100 ? `${name.slice(0, 99)}…` : name;
}
