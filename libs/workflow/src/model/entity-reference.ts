/** What is stored instead of an entity. */
export interface EntityReference {
  readonly type: string;
  readonly id: string;
}

/** Who knows the application's entities. */
export interface EntityReferences {
  /** How this instance of a class is found again. Null: it is no entity. `'unsaved'`: it is one, without an id yet. */
  referenceOf(value: object): EntityReference | null | 'unsaved';
  /** The record, or null when it is gone. */
  load(reference: EntityReference): Promise<unknown>;
}

/** The same text for two references to one record, and for no others. */
export function keyOf({ type, id }: EntityReference): string {
  return JSON.stringify([type, id]);
}
