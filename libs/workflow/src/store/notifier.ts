import { randomUUID } from 'node:crypto';
import { announcementPayload, channelOf } from './channel.js';
import type { Database } from './database.js';
import { NOTIFY } from './transaction.js';
import type { Announcement, Wakeup } from './wakeup.js';

const COLLECT_MS = 10;
const CLOSE_MS = 2_000;

interface Dirty {
  readonly announcement: Announcement;
  readonly at: number;
}

/** Sends payloads to a channel. */
export type SendNotifications = (channel: string, payloads: readonly string[]) => Promise<void>;

/**
 * Tells the other processes, after the commit and apart from it: `NOTIFY` in the writing transaction would take a lock on the
 * whole database through its commit (10,515 -> 3,046 commits/s with 32 writers). Announcements of 10 ms become one statement, and one
 * notification a lane.
 */
export class Notifier {
  /** Left out of what this process listens to: it knows already. */
  readonly sender = randomUUID();
  private readonly dirty = new Map<string, Dirty>();
  private timer: NodeJS.Timeout | undefined;
  private readonly stopListening: () => void;
  private send: SendNotifications | null = null;
  private sending: Promise<void> = Promise.resolve();
  /** Said once, until it works again. */
  private failing = false;

  constructor(
    private readonly database: Database,
    wakeup: Wakeup,
    private readonly failed: (error: unknown) => void,
  ) {
    this.stopListening = wakeup.listen((announcement, from) => {
      if (from === 'here') this.add(announcement);
    });
  }

  /** Sends over this connection from now on, or (null) over one of the pool. */
  sendBy(send: SendNotifications | null): void {
    this.send = send;
  }

  /** Sends what is left and stops; a database that does not answer is not waited for. */
  async close(): Promise<void> {
    this.stopListening();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([this.flush(), late]);
    clearTimeout(timer);
  }

  private add(announcement: Announcement): void {
    const key = keyOf(announcement);
    const known = this.dirty.get(key);
    const fresh = { announcement, at: performance.now() };
    this.dirty.set(key, known ? both(known, fresh) : fresh);
    this.timer ??= setTimeout(() => void this.flush(), COLLECT_MS);
  }

  private async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.dirty.size) return;
    const payloads = [...this.dirty.values()].map(({ announcement, at }) =>
      announcementPayload(later(announcement, performance.now() - at), this.sender),
    );
    this.dirty.clear();
    // One after the other: a connection answers one query at a time.
    this.sending = this.sending.then(() => this.sendAll(payloads));
    await this.sending;
  }

  private async sendAll(payloads: readonly string[]): Promise<void> {
    try {
      await (this.send ?? this.sendByPool)(channelOf(this.database.tables), payloads);
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.failed(error);
      this.failing = true;
    }
  }

  /** Within the engine's share. */
  readonly sendByPool: SendNotifications = (channel, payloads) =>
    this.database.engineConnect(async (connection) => {
      await connection.run(NOTIFY, [payloads.map(() => channel), payloads]);
    });
}

/** What says the same once more is sent once. */
function keyOf(announcement: Announcement): string {
  switch (announcement.kind) {
    case 'due':
      return `due\0${announcement.queue}\0${announcement.priority}`;
    case 'cancelled':
      return `cancelled\0${announcement.stepId}`;
    case 'join':
      return `join\0${announcement.workflow}`;
  }
}

/** One announcement for two of a lane: of the earlier moment, and of all rows. */
function both(known: Dirty, fresh: Dirty): Dirty {
  const [before, now] = [known.announcement, fresh.announcement];
  if (before.kind !== 'due' || now.kind !== 'due') return fresh;
  const [earlier, due] = before.dueIn <= now.dueIn ? [known, before] : [fresh, now];
  return { ...earlier, announcement: { ...due, rows: (before.rows ?? 1) + (now.rows ?? 1) } };
}

function later(announcement: Announcement, elapsed: number): Announcement {
  return announcement.kind === 'due' ? { ...announcement, dueIn: announcement.dueIn - elapsed } : announcement;
}
