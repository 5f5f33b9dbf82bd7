/** Room that was made for those who wait is taken back after this long without a standstill. */
const CALM_MS = 1_000;

/**
 * Lets at most `size` holders in at once; the others wait in line.
 *
 * With `standstill`, one more is let in whenever nobody has left for that long (in milliseconds): a holder may be waiting for what somebody in the line
 * would do, such as a call that is made within another, or the end of a transaction that has another call to make.
 */
export class Semaphore {
  private free: number;
  private readonly line: (() => void)[] = [];
  private extra = 0;
  private stoodStillAt = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    size: number,
    private readonly standstill: number | null = null,
  ) {
    this.free = size;
  }

  async hold<T>(use: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await this.queue();
    try {
      return await use();
    } finally {
      this.leave();
    }
  }

  private queue(): Promise<void> {
    return new Promise((resolve) => {
      this.line.push(resolve);
      if (!this.timer) this.watch();
    });
  }

  private leave(): void {
    const isCalm = this.extra > 0 && performance.now() - this.stoodStillAt > CALM_MS;
    if (isCalm || (this.extra > 0 && !this.line.length)) this.extra -= 1;
    else if (this.line.length) this.line.shift()!();
    else this.free += 1;
    this.watch();
  }

  /** From now on somebody must leave, as long as somebody waits. */
  private watch(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.standstill === null || !this.line.length) return;
    this.timer = setTimeout(() => {
      this.stoodStillAt = performance.now();
      this.extra += 1;
      this.line.shift()!();
      this.watch();
    }, this.standstill);
  }
}
