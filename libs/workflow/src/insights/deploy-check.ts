import type { Subjects } from '../registry/subjects.js';
import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { Database } from '../store/database.js';
import { readRecordedMigrations, type RecordedMigrations } from '../store/recorded-migrations.js';
import {
  problemBeyondMigrations,
  readSchema,
  schemaNotice,
  schemaProblem,
  type SchemaState,
} from '../store/schema-check.js';
import { SCHEMA } from '../store/schema-version.js';
import {
  classesNotLoaded,
  gravestones,
  jobsNotLoaded,
  onOtherSteps,
  stepsNotDeclared,
  subjectsNotLoadable,
  total,
  type Finding,
  type Note,
} from './deploy-findings.js';
import { readInFlight, type InFlight } from './deploy-reads.js';
import { matchersOfOthers, stepsThatDoNotWait, stepsThatWaitForOthers } from './deploy-waits.js';
import { readOne, readSnapshot } from './snapshot.js';

/** A build of the application beside what is in flight. */
export interface DeployCheckView {
  /** There are no findings. */
  readonly ok: boolean;
  readonly schema: { readonly found: number | null; readonly needed: number; readonly pending: readonly string[] };
  readonly ongoing: number;
  readonly findings: readonly Finding[];
  readonly notes: readonly Note[];
}

/** What {@link checkDeploy} works with. */
export interface DeployParts {
  readonly database: Database;
  readonly registry: WorkflowRegistry;
  readonly subjects: Subjects;
}

export interface DeployCheckOptions {
  /** Classes and jobs of other applications on the same tables: their runs are not this build's to know. */
  readonly ignore?: readonly string[];
  /** Migrations that the application runs as it boots. */
  readonly runAtBoot?: readonly string[];
}

/**
 * Compares what is in flight with the classes of this build, and the tables with what its version of the package needs. Changes nothing.
 *
 * @example
 * ```ts
 * const { ok, findings } = await checkDeploy(parts, { ignore: ['InvoiceWorkflow'] });
 * ```
 */
export async function checkDeploy(
  parts: DeployParts,
  { ignore = [], runAtBoot = [] }: DeployCheckOptions = {},
): Promise<DeployCheckView> {
  const { database, registry, subjects } = parts;
  const schema = await readOne(database, (connection) => readSchema(connection, database.dataSource));
  const migrations = await readOne(database, (connection) => readRecordedMigrations(connection, database.dataSource));
  const ofSchema = tellSchema(schema, migrations, runAtBoot);
  // Older tables have all that is counted; with some of them missing there is nothing to count.
  const readable =
    schema.schema !== null && schema.foreign.length === 0 && schema.lacking.every((what) => !what.startsWith('table '));
  const inFlight = readable ? await readSnapshot(database, readInFlight) : NOTHING;
  const known = new Set(ignore);
  const standing = inFlight.standing.filter((row) => !known.has(row.workflow_class));
  const definitions = registry.all().map(({ definition }) => definition);
  const findings = [
    ...ofSchema.findings,
    ...classesNotLoaded(registry, standing),
    ...jobsNotLoaded(registry, inFlight, known),
    ...definitions.flatMap((one) => [
      ...stepsNotDeclared(one, standing),
      ...stepsThatDoNotWait(one, inFlight),
      ...stepsThatWaitForOthers(one, inFlight),
    ]),
    ...subjectsNotLoadable(registry, subjects, inFlight),
  ];
  return {
    ok: findings.length === 0,
    schema: { found: schema.schema, needed: SCHEMA, pending: schema.pending },
    ongoing: total(standing),
    findings,
    notes: [
      ...ofSchema.notes,
      ...definitions.flatMap((one) => [
        ...gravestones(one, standing),
        ...onOtherSteps(one, standing),
        ...matchersOfOthers(one, inFlight),
      ]),
    ],
  };
}

const NOTHING: InFlight = { standing: [], waiting: [], members: [], subjects: [] };

function tellSchema(
  schema: SchemaState,
  { recorded, mayCreate }: RecordedMigrations,
  runAtBoot: readonly string[],
): { findings: Finding[]; notes: Note[] } {
  const problem = schemaProblem(schema);
  if (problem === null) {
    const notice = schemaNotice(schema);
    return { findings: [], notes: notice === null ? [] : [{ kind: 'schema', text: notice }] };
  }
  const finding = (text: string, advice?: string) => ({
    findings: [{ kind: 'schema' as const, text, ...(advice !== undefined && { advice }) }],
    notes: [],
  });
  if (problemBeyondMigrations(schema) !== null) return finding(problem);
  const { pending } = schema;
  const notAgain = pending.filter((name) => recorded.includes(name));
  if (notAgain.length > 0) {
    return finding(
      problem,
      `TypeORM has ${notAgain.join(', ')} recorded as run, and does not run ${notAgain.length === 1 ? 'it' : 'them'} again: ` +
        (schema.schema === null
          ? 'the tables were dropped, or this role does not see them. Restore them from a backup; if no run is worth keeping, delete what is recorded.'
          : 'the tables lost their comment. docs/upgrading.md says how to put it back.'),
    );
  }
  if (!pending.every((name) => runAtBoot.includes(name))) return finding(problem);
  if (schema.schema === null && !mayCreate) {
    return finding(
      problem,
      'This build would run them as it boots ("migrationsRun"), and may not: its role cannot create tables in the DataSource\'s schema, or there is no ' +
        'such schema. Is it the right database and role?',
    );
  }
  const text = `This build runs ${pending.join(', ')} as it boots ("migrationsRun"): the tables have schema ${SCHEMA} then.`;
  return { findings: [], notes: [{ kind: 'schema', text }] };
}
