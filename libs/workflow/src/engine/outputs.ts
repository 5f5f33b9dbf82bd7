import type { EntityManager } from 'typeorm';
import { deserialize } from '../model/payload.js';
import { completedOutputs } from '../store/attempts.js';
import type { Attempt } from './attempt.js';
import type { EngineParts } from './engine.parts.js';

/** The outputs of the run's completed steps (the newest completed attempt of each), by step. */
export async function readOutputs(
  { database, subjects }: EngineParts,
  { row }: Attempt,
  step: string | null,
  manager: EntityManager | undefined,
): Promise<Record<string, Record<string, unknown>>> {
  const rows = manager?.queryRunner
    ? await completedOutputs(await database.connectionOf(manager.queryRunner), row.workflowId, step)
    : await database.connect((connection) => completedOutputs(connection, row.workflowId, step));
  const load = (reference: { type: string; id: string }) => subjects.load(reference, manager);
  const read = rows
    .filter(({ output }) => output !== null)
    .map(async ({ step_name, output }) => [step_name, await deserialize(output, { load })] as const);
  return Object.fromEntries(await Promise.all(read)) as Record<string, Record<string, unknown>>;
}
