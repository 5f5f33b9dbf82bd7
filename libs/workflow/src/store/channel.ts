import { createHash } from 'node:crypto';
import type { Tables } from './statement.js';
import type { Announcement } from './wakeup.js';

/** One channel for each set of tables; a name of PostgreSQL's has at most 63 bytes. */
export function channelOf(tables: Tables): string {
  return `workflows_${createHash('sha256').update(tables.steps).digest('hex').slice(0, 16)}`;
}

/** As it travels in a notification. `sender` is left out by whoever wants to hear it himself. */
export function announcementPayload(announcement: Announcement, sender: string | null): string {
  return JSON.stringify([sender, announcement.kind, ...contentOf(announcement)]);
}

function contentOf(announcement: Announcement): (string | number)[] {
  switch (announcement.kind) {
    case 'due': {
      const { queue, priority, dueIn, rows } = announcement;
      return [queue, priority, Math.ceil(dueIn), ...(rows === undefined ? [] : [rows])];
    }
    case 'cancelled':
      return [announcement.stepId];
    case 'join':
      return [announcement.workflow];
  }
}

/** What a listener sends to itself: it proves that notifications arrive, and tells the others who listens. */
export function testPayload(sender: string, kind: string): string {
  return JSON.stringify([sender, 'test', kind]);
}

/** Reads another listener's; null for what is none. */
export function parseTest(payload: string): { sender: string; kind: string } | null {
  const [sender, what, kind] = partsOf(payload) ?? [];
  return what === 'test' && typeof sender === 'string' && typeof kind === 'string' ? { sender, kind } : null;
}

/** Reads a notification; null for one that is not ours, or not of this version. */
export function parseAnnouncement(payload: string): { announcement: Announcement; sender: string | null } | null {
  const [sender, kind, first, priority, dueIn, rows] = partsOf(payload) ?? [];
  const from = typeof sender === 'string' ? sender : null;
  if (kind === 'due' && typeof first === 'string' && Number.isInteger(priority) && Number.isFinite(dueIn)) {
    const due = { kind, queue: first, priority: priority as number, dueIn: dueIn as number } as const;
    return { announcement: Number.isInteger(rows) ? { ...due, rows: rows as number } : due, sender: from };
  }
  if (kind === 'cancelled' && typeof first === 'string') {
    return { announcement: { kind, stepId: first }, sender: from };
  }
  if (kind === 'join' && typeof first === 'string') {
    return { announcement: { kind, workflow: first }, sender: from };
  }
  return null;
}

function partsOf(payload: string): unknown[] | null {
  try {
    const parts: unknown = JSON.parse(payload);
    return Array.isArray(parts) ? parts : null;
  } catch {
    return null;
  }
}
