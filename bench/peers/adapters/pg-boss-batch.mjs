// @ts-check
import { pgBoss } from './pg-boss.mjs';

/** A handler that is given up to 500 jobs a call, and fails or completes them all. */
export const peer = pgBoss({
  localConcurrency: 2,
  batchSize: 500,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
});
