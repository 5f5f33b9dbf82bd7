// @ts-check
import { parseArgs } from 'node:util';

export const PARTS = ['scale', 'snapshot', 'strangers'];

const HELP = `npm run bench:data -- [options]

  --only <${PARTS.join(' | ')}>   one part of it; may be given again
  --ended <n>       ended runs, of 5 attempts and 17 events each (1000000)
  --future <n>      runs that are due later (1000000)
  --parked <n>      runs that wait for a signal (200000)
  --snapshot <n,…>  rows processed under an open snapshot (20000,100000)
  --strangers <n>   rows of a class that nobody has loaded (100000)
  --samples <n>     of each operation on each side (40)
  --limit <ratio>   of full to empty (1.3)
  --check           exit with 1 when a ratio is over it
  --json            print the figures as JSON`;

/** @typedef {ReturnType<typeof readOptions>} Options */

/** @param {string[]} given */
export function readOptions(given) {
  const { values } = parseArgs({
    args: given,
    options: {
      only: { type: 'string', multiple: true, default: PARTS },
      ended: { type: 'string', default: '1000000' },
      future: { type: 'string', default: '1000000' },
      parked: { type: 'string', default: '200000' },
      snapshot: { type: 'string', default: '20000,100000' },
      strangers: { type: 'string', default: '100000' },
      samples: { type: 'string', default: '40' },
      limit: { type: 'string', default: '1.3' },
      check: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = values.only.find((part) => !PARTS.includes(part));
  if (unknown) throw new Error(`--only ${unknown}: there is no such part; allowed: ${PARTS.join(', ')}`);
  return {
    only: values.only,
    sizes: { ended: count('ended'), future: count('future'), parked: count('parked') },
    snapshot: values.snapshot.split(',').map((text) => number('snapshot', text)).toSorted((a, b) => a - b),
    strangers: count('strangers'),
    samples: count('samples'),
    limit: number('limit', values.limit),
    check: values.check,
    json: values.json,
    help: values.help ? HELP : null,
  }; // prettier-ignore

  /** @param {'ended' | 'future' | 'parked' | 'strangers' | 'samples'} name */
  function count(name) {
    return Math.round(number(name, values[name]));
  }
}

/**
 * @param {string} name
 * @param {string} text
 */
function number(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} ${text}: a number above 0 is needed`);
  return value;
}
