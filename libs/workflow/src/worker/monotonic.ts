/** Milliseconds of a clock that is never set, the same in every thread of this process. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
