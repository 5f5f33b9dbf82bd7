import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { WorkerIdentity } from '../store/claim.js';
import type { WorkflowSettings } from '../workflow.options.js';

const DEFAULT_LEASE_MS = 8_000;

/** Who this process is. The id is new for each start: `hostname:pid` repeats in containers and is for people only. */
export function workerIdentity({ appRevision, worker }: WorkflowSettings): WorkerIdentity {
  return {
    id: randomUUID(),
    label: `${hostname()}:${process.pid}`,
    appRevision,
    lease: worker ? worker.lease : DEFAULT_LEASE_MS,
  };
}
