// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** @typedef {import('./side.mjs').Answer} Answer */

/**
 * A process of a side's, ready to measure.
 *
 * @param {string} folder the side's
 * @param {string} serverUrl
 * @param {string} database its name
 * @param {AbortSignal} signal ends it
 */
export async function startSide(folder, serverUrl, database, signal) {
  const child = fork(path.join(folder, 'bench/side.mjs'), [serverUrl, database], { stdio: ['ignore', 2, 2, 'ipc'] });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  const ended = once(child, 'exit').then(
    ([code, killer]) => new Error(`the process ended (${killer ?? `exit code ${code}`})`),
    (/** @type {Error} */ error) => error,
  );
  /** @returns {Promise<Answer>} */
  const answer = () =>
    Promise.race([
      once(child, 'message').then(([message]) => message),
      ended.then((error) => ({ error: error.message })),
    ]);
  const greeting = await answer();
  if ('error' in greeting) {
    if (child.connected) child.disconnect();
    throw new Error(`A process to measure with does not start in ${folder}: ${greeting.error}`);
  }
  return {
    /**
     * @param {string} line
     * @returns {Promise<import('./measurements.mjs').Figures>}
     */
    async measure(line) {
      if (child.connected) child.send({ line });
      const said = await answer();
      if ('figures' in said) return said.figures;
      throw new Error('error' in said ? said.error : 'it answered nothing that is known');
    },
    async end() {
      if (child.connected) child.send('end');
      await ended;
      signal.removeEventListener('abort', kill);
    },
  };
}
