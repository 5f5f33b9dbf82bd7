// @ts-check
import { fileURLToPath } from 'node:url';

/**
 * @typedef {import('node:inspector').Profiler.Profile} Profile
 * @typedef {import('node:inspector').Runtime.CallFrame} CallFrame
 *
 * @typedef {object} SelfTime
 * @property {string} module a package, a room of ours, `node`, `V8` or `bench`
 * @property {string} name of the function; for a module empty
 * @property {string} place file and line, as built
 * @property {number} ms
 */

/**
 * What a profile says of functions and of modules, the longest first. `busyMs` leaves out `idle`, of which the rest are shares.
 *
 * @param {Profile} profile
 * @returns {{ wholeMs: number, busyMs: number, functions: SelfTime[], modules: SelfTime[] }}
 */
export function selfTimes({ nodes, samples = [], timeDeltas = [] }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  /** @type {Map<string, SelfTime>} */
  const functions = new Map();
  /** @type {Map<string, SelfTime>} */
  const modules = new Map();
  let wholeMs = 0;
  let idleMs = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    // A delta says how long after the sample before this one was taken: the time until then was the earlier one's.
    const ms = Math.max(0, timeDeltas[index + 1] ?? 0) / 1_000;
    if (!frame) continue;
    wholeMs += ms;
    if (frame.functionName === '(idle)') {
      idleMs += ms;
      continue;
    }
    const module = moduleOf(frame.url);
    const place = frame.url ? `${shortened(frame.url)}:${frame.lineNumber + 1}` : '';
    const name = frame.functionName || '(anonymous)';
    add(functions, `${name} ${place}`, { module, name, place, ms });
    add(modules, module, { module, name: '', place: '', ms });
  }
  const byTime = (/** @type {Map<string, SelfTime>} */ times) => [...times.values()].toSorted((a, b) => b.ms - a.ms);
  return { wholeMs, busyMs: wholeMs - idleMs, functions: byTime(functions), modules: byTime(modules) };
}

/**
 * @param {Map<string, SelfTime>} times
 * @param {string} key
 * @param {SelfTime} time
 */
function add(times, key, time) {
  const known = times.get(key);
  if (known) known.ms += time.ms;
  else times.set(key, { ...time });
}

/** @param {string} url of a file; empty for what has none: the collector, natives */
function moduleOf(url) {
  if (url === '') return 'V8';
  if (url.startsWith('node:')) return 'node';
  const path = url.split('/node_modules/').at(-1) ?? '';
  if (path !== url) return path.split('/', path.startsWith('@') ? 2 : 1).join('/');
  const [, room] = /\/libs\/workflow\/dist\/(?:(\w+)\/)?/.exec(url) ?? [];
  if (room !== undefined) return `ours: ${room}`;
  return url.includes('/bench/') ? 'bench' : 'ours: (top)';
}

/** @param {string} url */
function shortened(url) {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return path
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/libs\/workflow\/dist\//, '')
    .replace(/^.*\/bench\//, 'bench/');
}
