// @ts-check
import { parseArgs } from 'node:util';
import { LINES } from './lines.mjs';

const USAGE = `npm run bench -- [--only LINE,…] [--rounds N] [--json]
npm run bench -- --check COMMIT [--threshold 0.9] [--only LINE,…] [--rounds N] [--json]
npm run bench -- --profile LINE [--json]
Lines: ${LINES.map(({ name }) => name).join(', ')}`;

export class WrongArguments extends Error {
  /** @param {string} problem */
  constructor(problem) {
    super(`${problem}\n\n${USAGE}`);
  }
}

/** @param {readonly string[]} args */
export function readArguments(args) {
  const values = parsed(args);
  const threshold = Number(values.threshold ?? 0.9);
  if (!(threshold > 0 && threshold < 1)) {
    throw new WrongArguments(`--threshold is ${values.threshold}; allowed: a ratio between 0 and 1, such as 0.9`);
  }
  const rounds = Number(values.rounds ?? 5);
  // Of two rounds nobody can tell what is noise.
  if (!Number.isSafeInteger(rounds) || rounds < (values.check ? 3 : 1)) {
    throw new WrongArguments(`--rounds is ${values.rounds}; allowed: a whole number from 1, with --check from 3`);
  }
  if (values.check !== undefined && values.profile !== undefined) {
    throw new WrongArguments('--check and --profile do not go together');
  }
  return {
    json: values.json === true,
    check: values.check,
    profile: values.profile === undefined ? undefined : lineOf(values.profile, '--profile'),
    only: values.only?.split(',').map((name) => lineOf(name.trim(), '--only')),
    rounds,
    threshold,
  };
}

/** @param {readonly string[]} args */
function parsed(args) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        json: { type: 'boolean' },
        check: { type: 'string' },
        profile: { type: 'string' },
        only: { type: 'string' },
        rounds: { type: 'string' },
        threshold: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new WrongArguments(error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {string} name
 * @param {string} option
 */
function lineOf(name, option) {
  const line = LINES.find((one) => one.name === name);
  if (!line) throw new WrongArguments(`${option} names "${name}", which is no line`);
  return line;
}
