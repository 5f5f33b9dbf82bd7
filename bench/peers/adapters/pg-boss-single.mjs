// @ts-check
import { pgBoss } from './pg-boss.mjs';

/** One job a call. */
export const peer = pgBoss({
  localConcurrency: 20,
  batchSize: 1,
  burstWhenReadyExceeds: 1,
  pollingIntervalSeconds: 0.5,
});
