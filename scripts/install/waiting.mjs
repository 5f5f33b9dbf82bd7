// @ts-check
// Waiting for what another program does, and a port for it.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { StepFailed } from './command.mjs';

const PATIENCE_MS = 60_000;

/**
 * @param {string} step
 * @param {Pick<ReturnType<typeof import('./command.mjs').start>, 'ended' | 'output'>} server
 * @param {string} what
 * @param {() => Promise<any>} look
 * @param {number} [patienceMs]
 */
export async function until(step, server, what, look, patienceMs = PATIENCE_MS) {
  const deadline = Date.now() + patienceMs;
  const ended = server.ended.then(({ reason }) => `it ended with ${reason}`);
  let seen = '';
  for (;;) {
    const answer = await look().catch((/** @type {Error} */ error) => {
      seen = error.message;
    });
    if (answer) return answer;
    const end = await Promise.race([ended, pause(50)]);
    const late = Date.now() > deadline && `${patienceMs / 1000} s have passed`;
    if (!end && !late) continue;
    throw new StepFailed(step, `waited in vain until ${what}: ${end || late}${seen && ` (${seen})`}`, server.output());
  }
}

/** @returns {Promise<number>} */
export async function freePort() {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
  probe.close();
  await once(probe, 'close');
  return port;
}
