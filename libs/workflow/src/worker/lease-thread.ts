import { parentPort, workerData } from 'node:worker_threads';
import { Client } from 'pg';
import type { ClientConfig } from '../store/client-config.js';
import { LeaseKeeper, type LeaseReport, type LeaseTask } from './lease-keeper.js';

/**
 * The thread's main file: a body that keeps the event loop busy for longer than the lease is not dead, so the leases are renewed beside
 * it.
 */
const { config, task } = workerData as { config: ClientConfig; task: LeaseTask };
const port = parentPort!;

const keeper = new LeaseKeeper(
  () => new Client(config),
  task,
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  (report: LeaseReport) => port.postMessage(report),
);

port.once('message', () => {
  // The port keeps the thread alive: closing it ends the thread.
  void keeper.stop().finally(() => port.close());
});

keeper.start();
