import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 100;

/** Looks until there is something to see. Null when patience ends: what is missing then, the expectations will say. */
export async function until<Seen>(look: () => Promise<Seen | null | undefined | false>): Promise<Seen | null> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    const seen = await look();
    if (seen) return seen;
    await pause(LOOK_EVERY_MS);
  }
  return null;
}
