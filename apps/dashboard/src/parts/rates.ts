import { durationText } from '../../../../libs/workflow/src/insights/time-text.js';

export { durationText };

const RATE = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

/** A part of 1 as `2.5%`; a dash: of nothing. */
export function rateText(rate: number | null): string {
  return rate === null ? '–' : RATE.format(rate);
}
