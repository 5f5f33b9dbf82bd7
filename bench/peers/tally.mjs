// @ts-check

/** Which bodies have run: every body of every adapter tells it. */
export class Tally {
  /** @type {Map<string, number>} */
  #counts = new Map();

  /** @type {(body: string, order: number) => void} */
  listen = () => {};

  /**
   * @param {string} body as `five.1`, `parked.woken`, `crowd.child`
   * @param {number} order of its run
   */
  ran(body, order) {
    this.#counts.set(body, this.count(body) + 1);
    this.listen(body, order);
  }

  /** @param {string} body */
  count(body) {
    return this.#counts.get(body) ?? 0;
  }

  /**
   * A promise of a body of this run; it may be awaited long after.
   *
   * @param {string} body
   * @param {number} order
   * @returns {Promise<void>}
   */
  next(body, order) {
    return new Promise((resolve) => {
      this.listen = (ran, of) => {
        if (ran === body && of === order) resolve();
      };
    });
  }

  /**
   * Nobody is taken at their word: as many bodies as there should be, no more and no less.
   *
   * @param {readonly string[]} bodies
   * @param {number} expected
   */
  expect(bodies, expected) {
    for (const body of bodies) {
      if (this.count(body) !== expected)
        throw new Error(`The body ${body} ran ${this.count(body)} times instead of ${expected}`);
    }
  }
}

export const FIVE = ['five.1', 'five.2', 'five.3', 'five.4', 'five.5'];
export const THREE = ['three.1', 'three.2', 'three.3'];
