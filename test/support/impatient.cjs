// Preloaded (`--require`): what would wait for half a minute or longer waits for a twentieth of that.

const { setTimeout: inTime } = globalThis;

const hurried = (/** @type {any} */ act, /** @type {number} */ ms, /** @type {any[]} */ ...args) =>
  inTime(act, ms >= 30_000 ? ms / 20 : ms, ...args);

Object.assign(globalThis, { setTimeout: Object.assign(hurried, inTime) });
