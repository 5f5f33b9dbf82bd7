/** A tenth less, at most: what many processes do again and again they do not do in step, though they were started, or lost their connections, at once. */
export function period(ms: number): number {
  return ms * (0.9 + 0.1 * Math.random());
}

/** Down to half of it: a server that comes back is not asked for connections by all of them at the same moment. */
export function retryPause(ms: number): number {
  return ms * (0.5 + 0.5 * Math.random());
}
