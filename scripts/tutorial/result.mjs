// @ts-check
// What was printed, beside what a page says is printed. Times, durations, processes and sizes are the reader's own, and so are ids: the page's first
// mention of one stands for the id that is printed there, from then on.

import { stripVTControlCharacters } from 'node:util';

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
/** @type {[RegExp, string][]} */
const MASKS = [
  [/(?:\d{4}-\d\d-\d\d )?\b\d\d:\d\d UTC/g, '<time>'],
  [/(?<![\w-])\d+(?:\.\d+)?(?:ms|s|m|h|d)(?: \d+(?:ms|s|m|h|d))*(?![\w-])/g, '<duration>'],
  [/(?<!\S)[\w.-]+:\d+(?!\S)/g, '<process>'],
  [/\(\d+ bytes\)/g, '(<size>)'],
];

/** The ids of a page, and those that stand for them here. */
export class Ids {
  /** @param {Map<string, string>} [known] */
  constructor(known = new Map()) {
    this.known = known;
  }

  /**
   * @param {string} text of the page
   * @returns {string} the same, with the ids of here
   */
  translate(text) {
    return text.replace(UUID, (id) => this.known.get(id) ?? id);
  }
}

/**
 * An ellipsis stands for any text; alone on its line, for any lines. Empty lines, colours, and how wide columns are, do not count.
 *
 * @param {string} page
 * @param {string} printed
 * @param {Ids} ids learns those that are new
 * @returns {boolean} whether what was printed is what the page says
 */
export function matches(page, printed, ids) {
  const found = matchLines(linesOf(page), linesOf(printed), ids.known);
  if (found) ids.known = found;
  return found !== null;
}

/**
 * @param {string} text
 * @returns {string} as it is compared
 */
export const comparable = (text) => linesOf(text).join('\n');

/**
 * @param {string[]} page
 * @param {string[]} printed
 * @param {Map<string, string>} known
 * @returns {Map<string, string> | null} the ids known after it; null: it does not match
 */
function matchLines([expected, ...after], printed, known) {
  if (expected === undefined) return printed.length === 0 ? known : null;
  if (expected === '…') {
    for (let skipped = 0; skipped <= printed.length; skipped += 1) {
      const rest = matchLines(after, printed.slice(skipped), known);
      if (rest) return rest;
    }
    return null;
  }
  const [line, ...others] = printed;
  const learnt = line === undefined ? null : matchLine(expected, line, known);
  return learnt && matchLines(after, others, learnt);
}

/**
 * @param {string} expected
 * @param {string} line
 * @param {Map<string, string>} known
 */
function matchLine(expected, line, known) {
  /** @type {string[]} */
  const fresh = [];
  const pattern = expected
    .split(/(…|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/)
    .map((part) => {
      if (part === '…') return '.*';
      if (part.search(UUID) === -1) return part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
      const here = known.get(part);
      if (here) return here;
      if (fresh.includes(part)) return `\\${fresh.indexOf(part) + 1}`;
      fresh.push(part);
      return `(${UUID.source})`;
    })
    .join('');
  const match = new RegExp(`^${pattern}$`).exec(line);
  return match && new Map([...known, ...fresh.map((id, at) => /** @type {const} */ ([id, match[at + 1] ?? '']))]);
}

/** @param {string} text */
function linesOf(text) {
  return stripVTControlCharacters(text)
    .split('\n')
    .map((line) => MASKS.reduce((masked, [mask, by]) => masked.replace(mask, by), line.replace(/\s+/g, ' ').trim()))
    .filter((line) => line !== '');
}
