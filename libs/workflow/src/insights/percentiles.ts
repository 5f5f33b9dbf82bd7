import type { AttemptNumbers, Three } from './class-numbers.js';
import type { AttemptStats, Percentiles } from './definition-views.js';

/** Of fewer than this many a percentile says little. */
export const ENOUGH_SAMPLES = 20;

export function percentilesOf(ms: Three, sampleSize: number): Percentiles {
  const [p50, p95, p99] = ms ?? [null, null, null];
  return { p50_ms: p50, p95_ms: p95, p99_ms: p99, sample_size: sampleSize, note: noteOf(sampleSize) };
}

function noteOf(samples: number): string | null {
  if (samples === 0 || samples >= ENOUGH_SAMPLES) return null;
  return samples === 1 ? 'Only 1 sample.' : `Only ${samples} samples.`;
}

const NO_ATTEMPTS: AttemptNumbers = {
  attempts: 0,
  ran: 0,
  run_ms: null,
  pickup_ms: null,
  failed: 0,
  reattempted: 0,
  skipped: 0,
};

export function statsOf(numbers: AttemptNumbers = NO_ATTEMPTS): AttemptStats {
  const { attempts } = numbers;
  const rate = (count: number) => (attempts === 0 ? null : count / attempts);
  return {
    attempts,
    run_time: percentilesOf(numbers.run_ms, numbers.ran),
    pickup: percentilesOf(numbers.pickup_ms, numbers.ran),
    failure_rate: rate(numbers.failed),
    reattempt_rate: rate(numbers.reattempted),
    skip_rate: rate(numbers.skipped),
  };
}
