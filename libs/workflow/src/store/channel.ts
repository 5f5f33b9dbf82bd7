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
    case 'due':
      return [announcement.queue, announcement.priority, Math.ceil(announcement.dueIn)];
    case 'cancelled':
      return [announcement.stepId];
    case 'join':
      return [announcement.workflow];
  }
}

/** Reads a notification; null for one that is not ours, or not of this version. */
export function parseAnnouncement(payload: string): { announcement: Announcement; sender: string | null } | null {
  let parts: unknown;
  try {
    parts = JSON.parse(payload);
  } catch {
    return null;
  }
  if (!Array.isArray(parts)) return null;
  const [sender, kind, first, priority, dueIn] = parts as unknown[];
  const from = typeof sender === 'string' ? sender : null;
  if (kind === 'due' && typeof first === 'string' && Number.isInteger(priority) && Number.isFinite(dueIn)) {
    return { announcement: { kind, queue: first, priority: priority as number, dueIn: dueIn as number }, sender: from };
  }
  if (kind === 'cancelled' && typeof first === 'string') {
    return { announcement: { kind, stepId: first }, sender: from };
  }
  if (kind === 'join' && typeof first === 'string') {
    return { announcement: { kind, workflow: first }, sender: from };
  }
  return null;
}
