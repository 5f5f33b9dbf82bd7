import { SuperJSON, type SuperJSONResult } from 'superjson';

/** Where an entity stood in a value: what is stored instead of it. */
export class StoredReference {
  constructor(
    readonly type: string,
    readonly id: string,
  ) {}
}

/** A value as JSON, and what JSON cannot say about it. No `meta`: `json` says it all. */
export interface Encoded {
  readonly json: unknown;
  readonly meta?: unknown;
}

const encoder = converter((reference) => reference);

/**
 * The value as JSON with notes beside it. Give it a tree that `storable.ts` has built: no cycles, nothing shared, none of
 * the keys that superjson throws on.
 */
export function encode(value: unknown): Encoded {
  const { json, meta } = encoder.serialize(value);
  // The tree shares nothing, so superjson's notes on sameness are only about equal bigints and NaNs: noise in the row.
  return meta?.values === undefined ? { json } : { json, meta: { values: meta.values, v: meta.v } };
}

/** The value that was encoded; in the place of each reference stands what `revive` gives for it. `encoded` stays as it is. */
export function decode(encoded: Encoded, revive: (reference: StoredReference) => unknown): unknown {
  return converter(revive).deserialize(encoded as SuperJSONResult);
}

function converter(revive: (reference: StoredReference) => unknown): SuperJSON {
  const superjson = new SuperJSON();
  superjson.registerCustom<StoredReference, { type: string; id: string }>(
    {
      isApplicable: (value): value is StoredReference => value instanceof StoredReference,
      serialize: ({ type, id }) => ({ type, id }),
      // superjson's type wants back what went in; it only puts what it gets into its place.
      deserialize: ({ type, id }) => revive(new StoredReference(type, id)) as StoredReference,
    },
    'entity',
  );
  return superjson;
}
