import { PayloadValidationError, UnserializableValueError } from '../errors.js';
import { keyOf, type EntityReference, type EntityReferences } from './entity-reference.js';
import { refusal, rootPath } from './payload-path.js';
import { hasObjectPrototype, isPlainJson, tooLarge } from './plain-json.js';
import { toStorable, type StorableOptions } from './storable.js';
import { decode, encode, type StoredReference } from './superjson.js';

export type { EntityReference, EntityReferences } from './entity-reference.js';

/*
 * How arguments, outputs and signal payloads are stored, as text for a `json` column, and read back.
 *
 * Plain JSON is stored as it stands, so that it can be queried in SQL. What JSON cannot say (a Date, a bigint, a Map, an
 * entity …) makes the whole payload an envelope: `json` with the values readable in their places, `$superjson` with notes
 * on what they were, and `entities` with the records to load. A payload with a `$superjson` key of its own is wrapped too.
 *
 * What comes back equals what was given, or nothing was stored. Two things are let go: an object that stood in two places
 * comes back as two, and one without a prototype comes back with the usual one.
 */

/** Marks the envelope; no stored plain payload has it as a key. */
const MARK = '$superjson';

interface Envelope {
  readonly [MARK]: unknown;
  /** Each once; missing when there are none. */
  readonly entities?: readonly EntityReference[];
  readonly json: unknown;
}

/**
 * The text to store. The value is only read, and not kept.
 *
 * @throws UnserializableValueError naming the path to what would not come back as it was
 * @throws PayloadTooLargeError when the text is longer than `maxBytes`, in bytes of UTF-8
 * @example
 * ```ts
 * serialize({ plan: 'pro' }, { what: 'arguments', maxBytes: 131_072, entities }); // '{"plan":"pro"}'
 * ```
 */
export function serialize(value: unknown, options: StorableOptions): string {
  const text = toText(value, options);
  const bytes = Buffer.byteLength(text);
  if (bytes > options.maxBytes) throw tooLarge(options, bytes);
  return text;
}

function toText(value: unknown, options: StorableOptions): string {
  if (isPlain(value, options)) return JSON.stringify(isMarked(value) ? { [MARK]: null, json: value } : value);
  const { copy, references } = toStorable(value, options);
  const { json, meta = null } = encode(copy);
  if (meta === null && !isMarked(json)) return JSON.stringify(json);
  return JSON.stringify({ [MARK]: meta, entities: references.length > 0 ? references : undefined, json });
}

/**
 * A getter or a proxy that throws is no plain value: the slower walk meets it again, and knows the path to it. What seems far
 * too large may be a cycle, which that walk tells apart.
 */
function isPlain(value: unknown, limit: StorableOptions): boolean {
  try {
    return isPlainJson(value, { limit, bytes: 0 });
  } catch {
    return false;
  }
}

/** Whether entities have to be loaded before the payload can be read: then {@link deserialize}, not its hasty sister. */
export function needsLoading(stored: unknown): boolean {
  return isMarked(stored) && stored.entities !== undefined;
}

/**
 * The value that was stored, its entities loaded, each once and all at the same time. One that is gone reads as null.
 *
 * @param stored - what the column holds, parsed
 */
export async function deserialize(stored: unknown, entities: Pick<EntityReferences, 'load'>): Promise<unknown> {
  if (!isMarked(stored)) return stored;
  const records = new Map<string, unknown>();
  const load = async (reference: EntityReference) =>
    records.set(keyOf(reference), (await entities.load(reference)) ?? null);
  await Promise.all((stored.entities ?? []).map(load));
  return unwrap(stored, (reference) => records.get(keyOf(reference)));
}

/**
 * {@link deserialize} without a promise, for the usual payload, which has no entities.
 *
 * @throws UnserializableValueError when {@link needsLoading}
 */
export function deserializeNow(stored: unknown): unknown {
  return isMarked(stored) ? unwrap(stored, refuseReference) : stored;
}

/**
 * A stored payload as JSON that a person reads: a Date is its text, an entity its `{ type, id }`. Nothing is loaded.
 *
 * @param stored - what the column holds, parsed
 */
export function readable(stored: unknown): unknown {
  return isMarked(stored) ? stored.json : stored;
}

function isMarked(value: unknown): value is Envelope {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, MARK);
}

function unwrap({ [MARK]: meta, json }: Envelope, revive: (reference: StoredReference) => unknown): unknown {
  return meta === null ? json : decode({ json, meta }, revive);
}

function refuseReference({ type, id }: StoredReference): never {
  throw new UnserializableValueError(`The payload refers to ${type} ${id}, which has to be loaded: use deserialize.`);
}

/**
 * What arguments, outputs and signal payloads have to be: an object literal. An instance of a class is none.
 *
 * @param what - names it in the error: `'arguments'`
 * @throws PayloadValidationError for JSON of another shape: null, an array, a number …
 * @throws UnserializableValueError for what no JSON holds: a function, an instance of a class …
 */
export function assertPlainObject(value: unknown, what: string): asserts value is Record<string, unknown> {
  if (typeof value === 'object' && value !== null && hasObjectPrototype(value)) return;
  const kind = Array.isArray(value) ? 'an array' : kindOf(value);
  const advice = 'Pass an object literal, for instance { ...value } or { value }.';
  if (typeof value === 'function' || kind.startsWith('an instance')) {
    throw refusal(what, rootPath(what), `is ${kind}`, advice);
  }
  throw new PayloadValidationError(`Cannot store the ${what}: it has to be a plain object, not ${kind}. ${advice}`);
}

function kindOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `an instance of ${value.constructor?.name || 'a class'}`;
  return value == null ? String(value) : `a ${typeof value}`;
}

/**
 * Freezes a payload's objects and arrays, all the way down. Entities and other instances of classes stay as they are, with
 * all that is in them: an entity is its owner's to change, and freezing does not keep a Map or a Date from changing.
 * What is frozen already is taken to be so all the way down.
 */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (!isLiteral(next) || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const child of Object.values(next)) open.push(child);
  }
  return value;
}

/**
 * A copy of a storable payload's objects and arrays, all the way down: what is changed afterwards does not show in it.
 * Entities and other instances of classes are the same ones.
 */
export function copyLiterals<T>(value: T): T {
  if (!isLiteral(value)) return value;
  if (Array.isArray(value)) return value.map(copyLiterals) as T;
  const copy = { ...value } as Record<string, unknown>;
  for (const key of Object.keys(copy)) copy[key] = copyLiterals(copy[key]);
  return copy as T;
}

function isLiteral(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (Array.isArray(value) || hasObjectPrototype(value));
}
