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

/** What the tables have in every schema, in the order of `WorkflowEntities`. The migrations have the same columns; a test holds the two lists together. */
export const MARKS: readonly Mark[] = [
  {
    columns: ['workflow_class', 'current_step', 'definition_digest'],
    uniqueIndexes: ['workflows_one_ongoing', 'workflows_idempotency_key'],
  },
  {
    columns: ['workflow_id', 'step_name', 'member_index', 'claim_no'],
    uniqueIndexes: ['workflow_steps_one_attempt', 'workflow_steps_one_open'],
  },
  { columns: ['workflow_id', 'step_id', 'actor'], uniqueIndexes: [] },
  {
    columns: ['workflow_id', 'payload', 'claimed_by_step_id'],
    uniqueIndexes: ['workflow_signals_one_delivery'],
  },
];

export interface Mark {
  /** By these a table is known to be the package's: an application may have a table `workflows` of its own. */
  readonly columns: readonly string[];
  /** On these promises rest: one ongoing run for a subject, one run for a key, one delivery of a signal. All are of the first migration. */
  readonly uniqueIndexes: readonly string[];
}
