// @ts-check
// Chance that can be had again: from a seed, and from what a thing is called.

/**
 * @typedef {object} Random
 * @property {() => number} next from 0, below 1
 * @property {(below: number) => number} whole from 0, below the given one
 * @property {<T>(list: readonly T[]) => T} pick
 * @property {<T>(choices: readonly (readonly [T, number])[]) => T} weighted each choice with its weight
 */

/**
 * @param {number} seed
 * @returns {Random}
 */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mixed(state);
  };
  const whole = (/** @type {number} */ below) => Math.floor(next() * below);
  return {
    next,
    whole,
    pick: (list) => list[whole(list.length)],
    weighted(choices) {
      let left = next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [choice, weight] of choices) {
        left -= weight;
        if (left < 0) return choice;
      }
      return /** @type {any} */ (choices.at(-1)?.[0]);
    },
  };
}

/**
 * From 0, below 1: always the same for the same parts, in every process.
 *
 * @param {...(string | number)} parts
 */
export function roll(...parts) {
  let hash = 0x811c9dc5;
  for (const character of parts.join('/')) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return mixed(hash >>> 0);
}

/** @param {number} value */
function mixed(value) {
  let bits = Math.imul(value ^ (value >>> 15), value | 1);
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
}
