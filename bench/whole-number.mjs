// @ts-check

/**
 * @param {string} name of the option
 * @param {string} given
 * @throws when it is anything but a whole number above 0
 */
export function wholeNumber(name, given) {
  const value = Number(given);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} ${given}: a whole number above 0 is needed`);
}
