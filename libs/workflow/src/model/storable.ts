import { types } from 'node:util';
import { WorkflowError } from '../errors.js';
import { keyOf, type EntityReference, type EntityReferences } from './entity-reference.js';
import { below, member, refusal, rootPath, type PayloadPath } from './payload-path.js';
import { MAX_DEPTH, count, hasArrayPrototype, hasObjectPrototype, hasToJson } from './plain-json.js';
import type { Meter, PayloadLimit } from './plain-json.js';
import { StoredReference } from './superjson.js';

/** Whose payload it is, and who knows its entities. */
export interface StorableOptions extends PayloadLimit {
  readonly entities: Pick<EntityReferences, 'referenceOf'>;
}

/** What superjson can be trusted with, and the distinct entities in it. */
export interface Storable {
  readonly copy: unknown;
  readonly references: readonly EntityReference[];
}

/** superjson throws on them, as a guard against prototype pollution. Plain JSON with such keys never meets it. */
const REFUSED_KEYS: ReadonlySet<string | symbol> = new Set(['__proto__', 'constructor', 'prototype']);

const TYPED_ARRAYS: Readonly<Record<string, new (values: never) => object>> = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
};

/** What to do instead, by class. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['Buffer', 'Pass it as new Uint8Array(buffer) or as base64 text, or pass the id of where the bytes lie.'],
  ['Promise', 'Await it first.'],
]);

/**
 * A copy of the value in which entities are references and nothing is shared: what superjson encodes without loss.
 *
 * @throws UnserializableValueError naming the path to the first thing that cannot be stored as it is
 */
export function toStorable(value: unknown, options: StorableOptions): Storable {
  const copier = new Copier(options);
  const copy = copier.copy(value, rootPath(options.what));
  return { copy, references: [...copier.references.values()] };
}

class Copier {
  readonly references = new Map<string, EntityReference>();
  /** The objects around the one being copied. */
  private readonly ancestors = new Set<object>();
  private readonly meter: Meter;

  constructor(private readonly options: StorableOptions) {
    this.meter = { limit: options, bytes: 0 };
  }

  copy(value: unknown, path: PayloadPath): unknown {
    count(this.meter, typeof value === 'string' ? value.length : 1);
    if (typeof value === 'function') {
      throw this.refusal(path, 'is a function', 'Functions are never stored; pass the data it needs.');
    }
    if (typeof value === 'symbol') throw this.refusal(path, 'is a symbol', 'Pass a string.');
    return typeof value === 'object' && value !== null ? this.copyGuarded(value, path) : value;
  }

  /** Holds off cycles, depths, and objects (a proxy, a getter) that throw when they are looked at. */
  private copyGuarded(value: object, path: PayloadPath): unknown {
    if (this.ancestors.has(value)) {
      throw this.refusal(path, 'refers back to an object that contains it', 'Pass its id instead.');
    }
    if (this.ancestors.size >= MAX_DEPTH) {
      throw this.refusal(path, `is nested more than ${MAX_DEPTH} levels deep`, 'Flatten it, or pass an id.');
    }
    this.ancestors.add(value);
    try {
      return this.copyObject(value, path);
    } catch (error) {
      if (error instanceof WorkflowError) throw error;
      throw this.refusal(path, `could not be read (${String(error)})`, 'Pass plain data.', error);
    } finally {
      this.ancestors.delete(value);
    }
  }

  private copyObject(value: object, path: PayloadPath): unknown {
    if (Array.isArray(value) && hasArrayPrototype(value)) return this.copyArray(value, path);
    if (hasObjectPrototype(value)) return this.copyPlain(value, path);
    return this.copyBuiltIn(value, path) ?? this.referenceTo(value, path);
  }

  private copyArray(value: readonly unknown[], path: PayloadPath): unknown[] {
    const copy: unknown[] = [];
    for (let index = 0; index < value.length; index++) {
      const at = below(path, `[${index}]`);
      if (!(index in value)) throw this.refusal(at, 'is a hole in a sparse array', 'Fill it, with null for instance.');
      copy.push(this.copy(value[index], at));
    }
    this.refuseExtras(ownKeys(value).slice(value.length), 'an array', path);
    return copy;
  }

  private copyPlain(value: object, path: PayloadPath): Record<string, unknown> {
    if (hasToJson(value)) throw this.refusal(path, 'has a toJSON method', 'Pass what it returns.');
    const copy: Record<string, unknown> = {};
    for (const key of ownKeys(value)) {
      const at = member(path, key);
      if (typeof key === 'symbol') throw this.refusal(at, 'has a symbol as its key', 'Use a string.');
      if (REFUSED_KEYS.has(key)) {
        const advice = 'Only a payload of plain JSON may use this name: rename it, or pass the payload as JSON text.';
        throw this.refusal(at, 'has a name that is unsafe beside dates, entities and the like', advice);
      }
      count(this.meter, key.length);
      copy[key] = this.copy((value as Record<string, unknown>)[key], at);
    }
    return copy;
  }

  /** Null: none that superjson gives back as it was. A subclass is none: it would come back as its parent. */
  private copyBuiltIn(value: object, path: PayloadPath): object | null {
    const depth = prototypesOf(value);
    if (depth === 3 && types.isTypedArray(value)) {
      const type = TYPED_ARRAYS[value[Symbol.toStringTag]];
      count(this.meter, value.length);
      this.refuseExtras(ownKeys(value).slice(value.length), `a ${nameOf(value)}`, path);
      return type === undefined ? null : new type(value as never);
    }
    if (depth !== 2) return null;
    if (types.isDate(value) && Number.isNaN(value.getTime())) {
      throw this.refusal(path, 'is an invalid Date', 'Pass null where there is no date.');
    }
    const copy = this.copyOf(value, path);
    if (copy !== null) this.refuseExtras(ownKeys(value), `a ${nameOf(value)}`, path);
    return copy;
  }

  private copyOf(value: object, path: PayloadPath): object | null {
    if (types.isDate(value)) return new Date(value.getTime());
    if (types.isRegExp(value)) return new RegExp(value.source, value.flags);
    if (value instanceof URL) return new URL(value.href);
    if (types.isSet(value)) return new Set(Array.from(value, (item, at) => this.copy(item, below(path, `{${at}}`))));
    if (types.isMap(value)) return new Map(Array.from(value, (entry, at) => this.copyEntry(entry, at, path)));
    return null;
  }

  private copyEntry([key, value]: [unknown, unknown], at: number, path: PayloadPath): [unknown, unknown] {
    const valuePath = typeof key === 'string' ? `.get(${JSON.stringify(key)})` : `.values()[${at}]`;
    return [this.copy(key, below(path, `.keys()[${at}]`)), this.copy(value, below(path, valuePath))];
  }

  private referenceTo(value: object, path: PayloadPath): StoredReference {
    const name = nameOf(value);
    const reference = types.isNativeError(value) ? null : this.options.entities.referenceOf(value);
    if (reference === 'unsaved')
      throw this.refusal(path, `is an unsaved ${name}`, 'Save it first, so that it has an id.');
    if (reference === null) {
      const advice = ADVICE.get(name) ?? 'Pass a plain object with the fields that are needed.';
      throw this.refusal(path, `is an instance of ${name}`, advice);
    }
    const { type, id } = reference;
    this.references.set(keyOf(reference), { type, id });
    return new StoredReference(type, id);
  }

  private refuseExtras([extra]: (string | symbol)[], owner: string, path: PayloadPath): void {
    if (extra === undefined) return;
    throw this.refusal(member(path, extra), `is a property of ${owner}`, 'Pass an object that holds both.');
  }

  private refusal(...args: [path: PayloadPath, problem: string, advice: string, cause?: unknown]) {
    return refusal(this.options.what, ...args);
  }
}

/** What spreading would copy. */
function ownKeys(value: object): (string | symbol)[] {
  const isEnumerable = (key: symbol) => Object.prototype.propertyIsEnumerable.call(value, key);
  return [...Object.keys(value), ...Object.getOwnPropertySymbols(value).filter(isEnumerable)];
}

/** 1 for an object literal, 2 for a Map, 3 for an instance of a subclass of Map; the same in every realm. */
function prototypesOf(value: object): number {
  let depth = 0;
  for (let at: unknown = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) depth++;
  return depth;
}

function nameOf(value: object): string {
  const type: unknown = value.constructor;
  return typeof type === 'function' && type.name !== '' ? type.name : 'an unnamed class';
}
