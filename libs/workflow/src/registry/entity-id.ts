import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { UnserializableValueError } from '../errors.js';

type PrimaryColumn = EntityMetadata['primaryColumns'][number];

/**
 * An entity's primary key as text: the same text for the same record, whether its number came as a number or as text, and
 * however its UUID is written, for a subject's slot hangs on it. A composite key is JSON, by column. Null: it has none yet.
 */
export function entityIdOf(metadata: EntityMetadata, entity: object): string | null {
  const parts: Record<string, string> = {};
  for (const column of metadata.primaryColumns) {
    const value = column.getEntityValue(entity, true) as unknown;
    if (value === undefined || value === null) return null;
    parts[column.databaseName] = textOf(metadata, column, value);
  }
  const texts = Object.values(parts);
  return texts.length === 1 ? texts[0]! : JSON.stringify(parts);
}

/** Finds the entity again, by `findOne`. */
export function whereIdIs({ primaryColumns }: EntityMetadata, id: string): ObjectLiteral {
  const [only, ...others] = primaryColumns;
  if (!others.length) return only!.createValueMap(asInEntity(only!, id));
  const parts = JSON.parse(id) as Record<string, string>;
  return primaryColumns
    .map((column) => column.createValueMap(asInEntity(column, parts[column.databaseName]!)))
    .reduce((where, part) => merged(where, part), {});
}

function textOf({ name }: EntityMetadata, column: PrimaryColumn, value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol') {
    throw new UnserializableValueError(
      `The primary key of ${name} (${column.propertyPath}) is no text, number or date, so the record could not be found again by it. ` +
        'Give the column a transformer to one of these, or write a @SubjectLoader for the class.',
    );
  }
  const text = String(value);
  return column.type === 'uuid' ? text.toLowerCase() : text;
}

/** `findOne` takes the value as the entity has it. */
function asInEntity({ transformer }: PrimaryColumn, text: string): unknown {
  const transformers = Array.isArray(transformer) ? transformer.toReversed() : transformer ? [transformer] : [];
  return transformers.reduce<unknown>((value, one) => one.from(value) as unknown, text);
}

/** Columns of one embedded object come as an object each. */
function merged(into: ObjectLiteral, from: ObjectLiteral): ObjectLiteral {
  const result = { ...into };
  for (const [key, value] of Object.entries(from)) {
    const held: unknown = result[key];
    result[key] = isMap(held) && isMap(value) ? merged(held, value) : (value as unknown);
  }
  return result;
}

function isMap(value: unknown): value is ObjectLiteral {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
