import { makeDueToJoin } from '../store/batches.js';
import { lockRun, lockRunIfFree } from '../store/run.js';
import { joinBatch, type Joined } from '../transition/batches.js';
import type { EngineParts } from './engine.parts.js';
import { patiently } from '../store/patience.js';

/**
 * Joins a batch none of whose members is open any more, in a transaction after the last member's. A process without the run's class
 * leaves the row due to be joined: durable, announced, and polled by those who have it.
 *
 * @param ifFree a run that somebody holds is left for the next look: whoever looks after many must not wait for one
 */
export function join(
  parts: EngineParts,
  batch: { id: string; workflowId: string },
  { ifFree = false } = {},
): Promise<Joined> {
  const { database, registry, settings } = parts;
  return patiently(database, () =>
    database.engineTransaction(async (transaction) => {
      const lock = ifFree ? lockRunIfFree : lockRun;
      const run = await lock(transaction.connection, batch.workflowId);
      if (!run) return null;
      if (!registry.get(run.workflow_class)) {
        await makeDueToJoin(transaction.connection, batch.id);
        transaction.announce({ kind: 'join', workflow: run.workflow_class });
        return null;
      }
      return joinBatch(transaction, batch, (workflow) => registry.require(workflow), {
        defaultQueue: settings.queue,
        errorBacktraceLines: settings.errorBacktraceLines,
      });
    }),
  );
}
