// @ts-check
import { median } from './report.mjs';

/**
 * @typedef {'worse' | 'worse, or noise' | 'a little worse' | 'same' | 'a little better' | 'better'} Verdict
 *
 * @typedef {object} Comparison
 * @property {number} here median over the rounds
 * @property {number} there
 * @property {number} ratio here / there: the median of the rounds' own ratios, for a round's two sides met the same minutes
 * @property {[number, number]} spread between which the true median lies nine times in ten (with fewer than five rounds: less often)
 * @property {Verdict} verdict
 */

/**
 * Worse is what is so by more than the threshold, and by more than noise: in the whole of the spread.
 *
 * @param {readonly number[]} here a figure, by round
 * @param {readonly number[]} there the same rounds
 * @param {'more' | 'less'} better
 * @param {number} threshold below 1
 * @returns {Comparison}
 */
export function compare(here, there, better, threshold) {
  const ratios = here.map((value, round) => (value === there[round] ? 1 : value / there[round]));
  const ratio = median(ratios);
  const spread = spreadOf(ratios);
  // From here on more is better.
  const gain = better === 'more' ? ratio : 1 / ratio;
  const [low, high] = better === 'more' ? spread : [1 / spread[1], 1 / spread[0]];
  return { here: median(here), there: median(there), ratio, spread, verdict: verdictOf(gain, low, high, threshold) };
}

/**
 * @param {number} gain
 * @param {number} low
 * @param {number} high
 * @param {number} threshold
 * @returns {Verdict}
 */
function verdictOf(gain, low, high, threshold) {
  if (gain < threshold) return high < 1 ? 'worse' : 'worse, or noise';
  if (high < 0.995) return 'a little worse';
  if (low <= 1.005) return 'same';
  return gain > 1 / threshold ? 'better' : 'a little better';
}

/**
 * The interval between two of the values, equally far from the ends, in which the median of what they are drawn from lies with a probability of at least
 * 90 %; the least and the greatest, where there are too few.
 *
 * @param {readonly number[]} values
 * @returns {[number, number]}
 */
export function spreadOf(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let cut = 0;
  // The probability that at most `left` of `count` fair coins show heads.
  let tail = 0.5 ** count;
  let next = tail;
  for (let left = 1; 2 * left < count; left += 1) {
    next = (next * (count - left + 1)) / left;
    tail += next;
    if (1 - 2 * tail < 0.9) break;
    cut = left;
  }
  return [sorted[cut], sorted[count - 1 - cut]];
}
