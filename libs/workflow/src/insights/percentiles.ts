import type { AttemptNumbers, StepNumbers, Three } from './class-numbers.js';
import type { AttemptStats, Percentiles, StepStats } from './definition-views.js';

/** Of fewer than this many a percentile says little. */
const ENOUGH_SAMPLES = 20;

export function percentilesOf(us: Three, sampleSize: number): Percentiles {
  const [p50, p95, p99] = us ?? [null, null, null];
  // A clock that was set back is no reason to tell of less than nothing.
  const ms = (value: number | null) => (value === null ? null : Math.max(0, value) / 1_000);
  return { p50_ms: ms(p50), p95_ms: ms(p95), p99_ms: ms(p99), sample_size: sampleSize, note: noteOf(sampleSize) };
}

function noteOf(samples: number): string | null {
  if (samples === 0 || samples >= ENOUGH_SAMPLES) return null;
  return samples === 1 ? 'Only 1 sample.' : `Only ${samples} samples.`;
}

const NO_ATTEMPTS: Omit<StepNumbers, 'step' | 'reached'> = {
  attempts: 0,
  ran: 0,
  run_us: null,
  pickup_us: null,
  failed: 0,
  reattempted: 0,
  skipped: 0,
};

export function attemptStats({
  attempts,
  ran,
  run_us: us,
  failed,
  reattempted,
  skipped,
}: AttemptNumbers): AttemptStats {
  const rate = (count: number) => (attempts === 0 ? null : count / attempts);
  return {
    attempts,
    run_time: percentilesOf(us, ran),
    failure_rate: rate(failed),
    reattempt_rate: rate(reattempted),
    skip_rate: rate(skipped),
  };
}

export function stepStats(numbers: typeof NO_ATTEMPTS = NO_ATTEMPTS): StepStats {
  return { ...attemptStats(numbers), pickup: percentilesOf(numbers.pickup_us, numbers.ran) };
}
