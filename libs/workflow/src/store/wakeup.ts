import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';

/** What a committed change means for workers. */
export type Announcement =
  | {
      readonly kind: 'due';
      readonly queue: string;
      readonly priority: number;
      /** Milliseconds from now; 0 or less: at once. */
      readonly dueIn: number;
      /** How many rows, where they are several: so many workers have something to do. */
      readonly rows?: number;
    }
  /** An attempt in progress was ended from outside: whoever runs its body asks it to stop. */
  | { readonly kind: 'cancelled'; readonly stepId: string }
  /** A batch is due to be joined, by a process that has this class. */
  | { readonly kind: 'join'; readonly workflow: string };

/**
 * Carries announcements from whoever committed a change to whoever acts on it: the dispatcher of this process, and the
 * notifier, which tells the other processes. An announcement is only ever about speed: polling finds the same rows.
 */
export class Wakeup {
  private readonly emitter = new EventEmitter<{ announced: [Announcement, 'here' | 'elsewhere'] }>();

  announce(announcements: readonly Announcement[]): void {
    for (const announcement of announcements) this.emitter.emit('announced', announcement, 'here');
  }

  /** An announcement that another process made. */
  heard(announcement: Announcement): void {
    this.emitter.emit('announced', announcement, 'elsewhere');
  }

  /**
   * Returns the function that stops listening. The listener runs in the asynchronous context it was made in: what a body's call to `start` sets going is
   * no part of that step.
   */
  listen(listener: (announcement: Announcement, from: 'here' | 'elsewhere') => void): () => void {
    const bound = AsyncResource.bind(listener);
    this.emitter.on('announced', bound);
    return () => this.emitter.off('announced', bound);
  }
}
