/** Lets at most `size` holders in at once; the others wait in line. */
export class Semaphore {
  private free: number;
  private readonly line: (() => void)[] = [];

  constructor(size: number) {
    this.free = size;
  }

  async hold<T>(use: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.line.push(resolve));
    try {
      return await use();
    } finally {
      const next = this.line.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}
