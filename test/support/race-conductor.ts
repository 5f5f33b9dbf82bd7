import { Client } from 'pg';
import type { Suite } from './suite';

const GATE = 4_711;
const LOOK_EVERY_MS = 3;

/** How two acts are let go at each other. */
export type Tempo =
  /** Both at once, with nothing in their way. */
  | 'at once'
  /** Each run is held by a third connection until those that wait for it stand in line, the first act before the second. */
  | 'in line'
  /** The first act stands still at its first event, with everything before it written and locked, until the second can go no further. */
  | 'in the middle';

/** A third connection, which holds back the two sides of a race until they are where it wants them. */
export class Conductor {
  private constructor(
    private readonly client: Client,
    private readonly suite: Suite,
  ) {}

  /** From then on every event of the suite's database is written through the gate. */
  static async of(suite: Suite): Promise<Conductor> {
    await suite.sql(`
      create or replace function gate() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(${GATE});
        return new;
      end $$`);
    await suite.sql(
      'create or replace trigger gate before insert on workflow_events for each row execute function gate()',
    );
    const client = new Client({ connectionString: suite.database.url, application_name: 'conductor' });
    await client.connect();
    return new Conductor(client, suite);
  }

  end(): Promise<void> {
    return this.client.end();
  }

  /** @param waits whether an act waits for a run that somebody holds; one that does not is let go with the lock */
  async play<A, B>(
    tempo: Tempo,
    ids: readonly string[],
    first: { readonly fire: () => Promise<A>; readonly waits: boolean },
    second: { readonly fire: () => Promise<B>; readonly waits: boolean },
  ): Promise<[A, B]> {
    if (tempo === 'at once') return Promise.all([first.fire(), second.fire()]);
    const middle = tempo === 'in the middle';
    await this.client.query(middle ? `select pg_advisory_lock(${GATE})` : 'begin');
    if (!middle) {
      await this.client.query('select from workflows where id = any($1::uuid[]) order by id for no key update', [ids]);
    }
    const open = () => this.client.query(middle ? `select pg_advisory_unlock(${GATE})` : 'commit');
    try {
      const a = middle || first.waits ? first.fire() : null;
      if (a) await this.untilStill([a]);
      const b = middle || second.waits ? second.fire() : null;
      if (b) await this.untilStill(a ? [a, b] : [b]);
      const opened = open();
      return await Promise.all([a ?? first.fire(), b ?? second.fire(), opened]).then(([one, other]) => [one, other]);
    } catch (error) {
      await open();
      throw error;
    }
  }

  /** Until each of these has ended or waits for a lock, seen twice: between two statements of a transaction nothing waits. */
  private async untilStill(calls: readonly Promise<unknown>[]): Promise<void> {
    let ended = false;
    void Promise.allSettled(calls).then(() => (ended = true));
    let still = 0;
    await this.suite.eventually(async () => {
      if (ended) return true;
      const [row] = await this.suite.sql<{ moving: number; waiting: number }>(
        `select count(*) filter (where wait_event_type is distinct from 'Lock')::int as moving,
                count(*) filter (where wait_event_type = 'Lock')::int as waiting
         from pg_stat_activity where datname = current_database() and state <> 'idle' and backend_type = 'client backend'
           and application_name <> 'conductor' and pid <> pg_backend_pid()`,
      );
      still = row.moving === 0 && row.waiting > 0 ? still + 1 : 0;
      if (still < 2) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      return still >= 2;
    }, 'both sides of the race stand still');
  }
}
