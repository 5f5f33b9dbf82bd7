/**
 * The migrations whose schema this version needs, oldest first: the schema's number is how many have run. The package's code may not import them (they
 * stand alone); a test holds the two lists together.
 */
export const SCHEMA_MIGRATIONS = ['CreateWorkflowTables1764500000000', 'NumberWorkflowSchema1764700000000'] as const;

/** The schema that this version is made for. */
export const SCHEMA: number = SCHEMA_MIGRATIONS.length;

/** What the tables say of themselves. */
export interface SchemaNumber {
  readonly schema: number;
  /** The oldest schema that a version must know to work on them: what came since only added to it. */
  readonly forVersionsOf: number;
}

const COMMENT = /nestjs-pg-workflows: schema (\d{1,6}), for versions that know schema (\d{1,6})/;

/** Reads the comment on the table of runs; null: it says nothing, as before schema 2. */
export function schemaNumberOf(comment: string | null): SchemaNumber | null {
  const [, schema, forVersionsOf] = COMMENT.exec(comment ?? '') ?? [];
  return schema === undefined ? null : { schema: Number(schema), forVersionsOf: Number(forVersionsOf) };
}
