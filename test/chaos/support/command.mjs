// @ts-check
// A command's options: numbers that are checked, `--json`, `--help`.

import { parseArgs } from 'node:util';

/**
 * @typedef {{ type: 'number', default: number, min: number, whole: boolean }} NumberOption
 * @typedef {{ type: 'boolean' }} FlagOption
 */

/**
 * @param {number} fallback
 * @param {number} [min]
 * @returns {NumberOption}
 */
export const whole = (fallback, min = 0) => ({ type: 'number', default: fallback, min, whole: true });

/**
 * @param {number} fallback
 * @returns {NumberOption} more than 0
 */
export const positive = (fallback) => ({ type: 'number', default: fallback, min: Number.MIN_VALUE, whole: false });

/**
 * The options of this process. Ends it for `--help`, and for an option that cannot be right.
 *
 * @template {Record<string, NumberOption | FlagOption>} Options
 * @param {string} help
 * @param {Options} options
 * @returns {{ [Name in keyof Options]: Options[Name] extends NumberOption ? number : boolean } & { json: boolean }}
 */
export function readOptions(help, options) {
  try {
    /** @type {{ values: Record<string, unknown> }} */
    const { values } = parseArgs({
      options: {
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        ...Object.fromEntries(
          Object.entries(options).map(([name, { type }]) => [name, { type: type === 'number' ? 'string' : 'boolean' }]),
        ),
      },
    });
    if (values.help) {
      process.stdout.write(help);
      process.exit(0);
    }
    const read = Object.entries(options).map(([name, option]) => [name, valueOf(name, option, values[name])]);
    return { ...Object.fromEntries(read), json: values.json === true };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    process.exit(2);
  }
}

/**
 * @param {string} name
 * @param {NumberOption | FlagOption} option
 * @param {unknown} text
 */
function valueOf(name, option, text) {
  if (option.type === 'boolean') return text === true;
  if (text === undefined) return option.default;
  const value = Number(text);
  if (Number.isFinite(value) && value >= option.min && (!option.whole || Number.isSafeInteger(value))) return value;
  throw new Error(
    `--${name} is ${String(text)}; allowed: a ${option.whole ? 'whole ' : ''}number of at least ${option.min}.`,
  );
}
