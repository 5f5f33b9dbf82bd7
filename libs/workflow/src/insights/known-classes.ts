import type { Connection } from '../store/connection.js';

/** All of the ended runs are read again this seldom, so that a class which is gone from the tables goes from the list. */
const LOOK_AT_ALL_EVERY_MS = 60 * 60 * 1_000;
/** A run is committed later than its end says: who looked at that moment did not see it. */
const MARGIN_MS = 10 * 60 * 1_000;

/**
 * The classes that have runs in the table. No index has the classes of ended runs, so finding all of them means reading all of them: that is done at first, and
 * once an hour. In between only those are asked for that are ongoing or have ended since the last look: a class that is new has no others.
 */
export class KnownClasses {
  private names = new Set<string>();
  private lookedAt: number | undefined;
  private lookedAtAll = -Infinity;

  /** @param now milliseconds, the database's */
  async look(connection: Connection, now: number): Promise<ReadonlySet<string>> {
    const all = this.lookedAt === undefined || Math.abs(now - this.lookedAtAll) > LOOK_AT_ALL_EVERY_MS;
    const since = all ? null : new Date(Math.min(this.lookedAt!, now) - MARGIN_MS).toISOString();
    const rows = await connection.ask<{ name: string }>(
      (t) => `
with recursive ongoing(name) as (
  (select w.workflow_class from ${t.runs} w where w.ended_at is null order by w.workflow_class limit 1)
  union all
  select (select w.workflow_class from ${t.runs} w where w.ended_at is null and w.workflow_class > ongoing.name
          order by w.workflow_class limit 1)
  from ongoing where ongoing.name is not null
)
select name from ongoing where name is not null
union
select w.workflow_class from ${t.runs} w where w.ended_at >= coalesce($1::timestamptz, '-infinity')`,
      [since],
    );
    const found = rows.map(({ name }) => name);
    this.names = all ? new Set(found) : new Set([...this.names, ...found]);
    this.lookedAt = now;
    if (all) this.lookedAtAll = now;
    return this.names;
  }
}
