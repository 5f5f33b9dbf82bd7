import { LONGEST_TIMER_MS } from '../engine/longest-timer.js';
import type { Peers } from './peers.js';

/** One timer for the earliest of all looks that are wanted. What it waits for, its peers wait for too: they do not all look at once. */
export class LookTimer {
  private armed: { readonly due: number; readonly handle: NodeJS.Timeout; readonly lets: boolean } | undefined;

  constructor(
    private readonly look: () => void,
    private readonly peers: Peers,
  ) {}

  in(delay: number): void {
    this.arm(delay, () => this.fire());
  }

  /** All have been told, of so many rows: looks now, or leaves it to others and looks later. */
  fire(rows = 1): void {
    const pause = this.peers.pause(rows);
    if (pause === 0) this.look();
    else this.arm(pause, this.look, true);
  }

  /** It looks now, for whatever reason: what was left to others is looked for with it. */
  looked(): void {
    if (this.armed?.lets) this.stop();
  }

  stop(): void {
    clearTimeout(this.armed?.handle);
    this.armed = undefined;
  }

  private arm(delay: number, fire: () => void, lets = false): void {
    const due = performance.now() + delay;
    if (this.armed && this.armed.due <= due) return;
    clearTimeout(this.armed?.handle);
    const fired = () => {
      this.armed = undefined;
      fire();
    };
    this.armed = { due, handle: setTimeout(fired, Math.min(Math.ceil(delay), LONGEST_TIMER_MS)), lets };
  }
}
