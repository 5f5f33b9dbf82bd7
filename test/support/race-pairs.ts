import { applies, ENABLES, PASSES_BY, type ActName } from './race-acts';
import type { Tempo } from './race-conductor';
import { SCENES, type Scene } from './race-scenes';

/** `alone`: what is done here, by itself. */
export type Turn = 'here' | 'there' | 'alone';

interface Order {
  readonly name: string;
  readonly turns: readonly Turn[];
}

export interface Round {
  readonly scene: Scene;
  readonly tempo: Tempo;
  /** What is done there is let go first. */
  readonly swapped: boolean;
}

/** Two acts that meet on a run: the first is done here, the second there. */
export class Pair {
  readonly name: string;
  readonly orders: readonly Order[];
  /** Those in which both do something, then those in which one lets the other, then those in which one does. */
  readonly scenes: readonly Scene[];

  constructor(
    readonly here: ActName,
    readonly there: ActName,
  ) {
    this.name = `${here} × ${there}`;
    this.orders = ordersOf(here, there);
    const rank = (scene: Scene) => {
      const [a, b] = [scene.for.includes(here), scene.for.includes(there)];
      if (a && b) return 3;
      if ((a && ENABLES[here]?.includes(there)) || (b && ENABLES[there]?.includes(here))) return 2;
      return a || b ? 1 : 0;
    };
    this.scenes = SCENES.filter((scene) => rank(scene) > 0 && applies(here, scene) && applies(there, scene)).toSorted(
      (one, other) => rank(other) - rank(one),
    );
  }

  /** Every tempo in the first scene, then in the next, and so on; from scene to scene another one is let go first. */
  rounds(count: number): Round[] {
    const idle = PASSES_BY.has(this.here) && PASSES_BY.has(this.there);
    // Where nobody waits for a lock nobody stands in line for it.
    const tempos: Tempo[] = idle ? ['at once', 'in the middle'] : ['at once', 'in line', 'in the middle'];
    return Array.from({ length: count }, (_, round) => {
      const turn = Math.floor(round / tempos.length);
      const again = Math.floor(turn / this.scenes.length);
      return {
        scene: this.scenes[turn % this.scenes.length],
        tempo: tempos[round % tempos.length],
        swapped: (turn + again + round) % 2 === 1,
      };
    });
  }
}

/**
 * The orders that may come out, and what passes a run by while the other has it. A settlement whose run somebody holds leaves its set, and
 * is then made alone, without going on in place.
 */
function ordersOf(here: ActName, there: ActName): Order[] {
  const orders: [string, Turn[]][] = [
    [`${here} here, then ${there} there`, ['here', 'there']],
    [`${there} there, then ${here} here`, ['there', 'here']],
  ];
  if (PASSES_BY.has(there)) orders.push([`${here} here, passed by there`, ['here']]);
  if (PASSES_BY.has(here)) orders.push([`${there} there, passed by here`, ['there']]);
  if (here === 'settle') {
    orders.push([`${here} here, alone, then ${there} there`, ['alone', 'there']]);
    orders.push([`${there} there, then ${here} here, alone`, ['there', 'alone']]);
    if (PASSES_BY.has(there)) orders.push([`${here} here, alone, passed by there`, ['alone']]);
  }
  return orders.map(([name, turns]) => ({ name, turns }));
}
