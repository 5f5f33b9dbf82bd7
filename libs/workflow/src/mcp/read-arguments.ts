import { checkedInput } from '../operating/checked-input.js';
import { fieldsOf, type FieldDescription } from '../operating/input-field.js';

/** Left out it guards nothing; a blank or a null may be a model's that meant a status, and must not act without it. */
const GUARDS_AN_ACT = 'expected_status';

/**
 * A call's arguments, checked by the rules that REST has. Models fill in what they do not mean: null, or a blank where a text is optional, is none.
 *
 * @throws {Refusal} 400, naming the argument
 */
export function readArguments<T extends object>(
  dto: new () => T,
  given: Readonly<Record<string, unknown>>,
): Promise<T> {
  const fields = fieldsOf(dto);
  const said = Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
    // The rules take null for left out.
    if (name === GUARDS_AN_ACT) return [[name, value ?? '']];
    return isNone(fields.get(name), value) ? [] : [[name, value]];
  });
  return checkedInput(dto, new Map(said), 'argument');
}

function isNone(field: FieldDescription | undefined, value: unknown): boolean {
  if (!field || field.required) return false;
  return value === null || ((field.type ?? 'string') === 'string' && typeof value === 'string' && value.trim() === '');
}

/** What a tool takes, as JSON Schema. */
export function inputSchemaOf(dto: new () => object) {
  const fields = [...fieldsOf(dto)];
  const required = fields.flatMap(([name, field]) => (field.required ? [name] : []));
  return {
    type: 'object' as const,
    properties: Object.fromEntries(fields.map(([name, field]) => [name, schemaOf(field)])),
    ...(required.length && { required }),
    additionalProperties: false,
  };
}

function schemaOf({
  required: _required,
  nullable,
  type = 'string',
  enum: values,
  ...field
}: FieldDescription): object {
  return {
    type: nullable ? [type, 'null'] : type,
    ...(values && { enum: nullable ? [...values, null] : values }),
    ...field,
  };
}
