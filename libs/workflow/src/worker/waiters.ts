/** Those who wait for something to come about, each up to a limit. */
export class Waiters {
  private readonly waiting = new Set<() => void>();

  /** It has come about. */
  reached(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  /** Whether it comes about within so many milliseconds. */
  within(limit: number): Promise<boolean> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.waiting.delete(done);
        resolve(false);
      }, limit);
      this.waiting.add(done);
    });
  }
}
