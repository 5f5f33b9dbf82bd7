// @ts-check

/**
 * @param {string} name of the option
 * @param {string} given
 * @param {number} [least]
 * @throws when it is anything but a whole number of at least that
 */
export function wholeNumber(name, given, least = 1) {
  const value = Number(given);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} ${given}: a whole number of at least ${least} is needed`);
}
