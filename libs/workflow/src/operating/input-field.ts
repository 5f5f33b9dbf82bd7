import { IsOptional } from 'class-validator';

/** What a field of a query or a body is, for whoever reads the OpenAPI document. */
export interface FieldDescription {
  readonly description: string;
  readonly required?: boolean;
  readonly type?: 'string' | 'integer' | 'object';
  readonly format?: 'date-time' | 'uuid';
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
  readonly default?: string | number;
  readonly additionalProperties?: boolean;
}

const described = new WeakMap<object, Map<string, FieldDescription>>();

/** A field of a query or a body: what it is, and the rules that its value is held to. Other fields are refused. */
export function Field(description: FieldDescription, ...rules: PropertyDecorator[]): PropertyDecorator {
  return (prototype, key) => {
    const fields = described.get(prototype) ?? new Map<string, FieldDescription>();
    described.set(prototype, fields.set(String(key), description));
    for (const rule of description.required ? rules : [...rules, IsOptional()]) rule(prototype, key);
  };
}

/** The fields of a query or a body, by name; those of its parents first. */
export function fieldsOf(dto: new () => object): ReadonlyMap<string, FieldDescription> {
  const fields = new Map<string, FieldDescription>();
  const lineage: object[] = [];
  for (let at = dto.prototype as object; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    lineage.unshift(at);
  }
  for (const prototype of lineage) for (const [name, field] of described.get(prototype) ?? []) fields.set(name, field);
  return fields;
}
