import { IsOptional } from 'class-validator';

/** What a field of a query, a body or a tool's arguments is, for whoever reads the OpenAPI document or the list of tools. */
export interface FieldDescription {
  readonly description: string;
  readonly required?: boolean;
  readonly type?: 'string' | 'integer' | 'boolean' | 'object';
  readonly format?: 'date-time' | 'uuid';
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
  readonly default?: string | number | boolean;
  readonly additionalProperties?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

const described = new WeakMap<object, Map<string, FieldDescription>>();

/** A field of a query, a body or a tool's arguments: what it is, and the rules that its value is held to. Other fields are refused. */
export function Field(description: FieldDescription, ...rules: PropertyDecorator[]): PropertyDecorator {
  return (prototype, key) => {
    const fields = described.get(prototype) ?? new Map<string, FieldDescription>();
    described.set(prototype, fields.set(String(key), description));
    for (const rule of description.required ? rules : [...rules, IsOptional()]) rule(prototype, key);
  };
}

/** The fields of such a class, by name; those of its parents first. */
export function fieldsOf(dto: new () => object): ReadonlyMap<string, FieldDescription> {
  const fields = new Map<string, FieldDescription>();
  const lineage: object[] = [];
  for (let at = dto.prototype as object; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    lineage.unshift(at);
  }
  for (const prototype of lineage) for (const [name, field] of described.get(prototype) ?? []) fields.set(name, field);
  return fields;
}
