/** The same chances at every start: what the dashboard shows is then the same, but for the moments. */
export class Chance {
  private state = 20_251_130;

  /** From 0 to below 1. (Mulberry32.) */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return Math.round(least + (most - least) * this.next());
  }

  /** Most near the least, a few far from it: as durations are. */
  skewed(least: number, most: number): number {
    return Math.round(least + (most - least) * this.next() ** 4);
  }

  of<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)];
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }
}
