import type { Connection } from '../store/connection.js';
import { notFound } from '../transition/verbs.js';
import { attemptsOf } from './attempts.js';
import { BoundValues } from './bound-values.js';
import { checkLimit, decodeCursor, encodeCursor } from './cursor.js';
import { eventsOf } from './events.js';
import type { InsightsParts } from './insights.parts.js';
import { toMoment } from './moments.js';
import { pausesOf } from './pauses.js';
import { readable } from '../model/payload.js';
import { RUN_ID } from '../model/run-id.js';
import { resumeLabel } from './resume-label.js';
import { checkRunFilter, type RunFilter } from './run-filter.js';
import { pageOf } from './run-page.js';
import { currentRow, loadedClass, runSummary, shownColumns, type ShownRun } from './run-rows.js';
import { signalsOf } from './signals.js';
import { readOne, readSnapshot } from './snapshot.js';
import type { EventList, RunList, RunView } from './views.js';

/** Which page of a list. */
export interface PageOptions {
  /** `next_cursor` of the page before; not given: the first page. */
  readonly cursor?: string;
  /** Default 50 runs or 100 events; at most 200 or 500. */
  readonly limit?: number;
}

const RUNS = { byDefault: 50, most: 200 };
const EVENTS = { byDefault: 100, most: 500 };
const MICROS = /^\d{1,17}$/;
/** What a bigint holds, whatever its digits. */
const EVENT_ID = /^\d{1,18}$/;

/** A run's page needs more of the run than a list does. */
interface PageRow extends ShownRun {
  readonly arguments: unknown;
  readonly idempotency_key: string | null;
  readonly rerun_of: string | null;
  readonly rerun_as: string | null;
}

/**
 * Reads runs as REST, the dashboard and MCP show them.
 *
 * @example
 * ```ts
 * const reads = new RunReads({ database, registry, settings });
 * const { runs, next_cursor } = await reads.list({ state: 'paused', class: 'OrderWorkflow' }, { limit: 20 });
 * ```
 */
export class RunReads {
  constructor(private readonly parts: InsightsParts) {}

  /**
   * A page of the runs that fit, newest first. What is started meanwhile comes before the first page, so that no run shows twice or is missed.
   *
   * @throws {InvalidQueryError} for a filter, a cursor or a limit that cannot be right
   */
  async list(filter: RunFilter, { cursor, limit: given }: PageOptions = {}): Promise<RunList> {
    const checked = checkRunFilter(filter);
    const limit = checkLimit(given, RUNS);
    const after = cursor === undefined ? null : startOf(decodeCursor(cursor, 'runs', [MICROS, RUN_ID]));
    const { stallThreshold, waitingVisibilityThreshold } = this.parts.settings;
    const values = new BoundValues();
    const place = values.bindAll([stallThreshold, waitingVisibilityThreshold]);
    const found = await readOne(this.parts.database, (connection) =>
      connection.ask<ShownRun>(
        (t) => `${pageOf(t, values, { filter: checked, after, limit: limit + 1, thresholds: this.parts.settings })}
select ${shownColumns(place)} from page w
${currentRow(t)}
order by w.created_at desc, w.id desc`,
        values.list,
      ),
    );
    const last = found.length > limit ? found[limit - 1]! : null;
    return {
      runs: found.slice(0, limit).map((run) => runSummary(run, this.parts)),
      next_cursor: last && encodeCursor('runs', last.created_us, last.id),
    };
  }

  /**
   * A run's page: the run, its newest hundred attempts, its signals, all as of one moment.
   *
   * @throws {WorkflowNotFoundError}
   */
  async run(id: string): Promise<RunView> {
    assertId(id);
    return readSnapshot(this.parts.database, async (connection) => {
      const run = await this.pageRow(connection, id);
      if (!run) throw notFound(id);
      const definition = loadedClass(this.parts, run.workflow_class);
      const { attempts, total } = await attemptsOf(connection, run);
      return {
        ...runSummary(run, this.parts),
        read_at: toMoment(run.now),
        args: readable(run.arguments),
        idempotency_key: run.idempotency_key,
        definition_loaded: definition !== null,
        definition_outdated: definition !== null && definition.digest !== run.definition_digest,
        rerun_of: run.rerun_of,
        rerun_as: run.rerun_as,
        steps: definition?.steps.filter(({ kind }) => kind !== 'removed').map(({ name }) => name) ?? [],
        resume_label:
          run.status === 'paused' && run.step_status !== null
            ? resumeLabel({ step: run.current_step, rowStatus: run.step_status, waitFor: run.wait_for, definition })
            : null,
        attempts,
        attempts_total: total,
        pauses: await pausesOf(connection, id),
        signals: await signalsOf(connection, id),
      };
    });
  }

  /**
   * A page of a run's audit trail, in the order in which it was written.
   *
   * @throws {WorkflowNotFoundError}
   * @throws {InvalidQueryError} for a cursor or a limit that cannot be right
   */
  async events(id: string, { cursor, limit: given }: PageOptions = {}): Promise<EventList> {
    assertId(id);
    const limit = checkLimit(given, EVENTS);
    const [after = '0'] = cursor === undefined ? [] : decodeCursor(cursor, 'events', [EVENT_ID]);
    return readSnapshot(this.parts.database, async (connection) => {
      const [run] = await connection.ask((t) => `select from ${t.runs} w where w.id = $1::uuid`, [id]);
      if (!run) throw notFound(id);
      const events = await eventsOf(connection, id, after, limit + 1);
      const last = events.length > limit ? events[limit - 1]! : null;
      return { events: events.slice(0, limit), next_cursor: last && encodeCursor('events', last.id) };
    });
  }

  private async pageRow(connection: Connection, id: string): Promise<PageRow | undefined> {
    const { stallThreshold, waitingVisibilityThreshold } = this.parts.settings;
    // Who repeats it is told by its trail: no index finds runs by what they repeat.
    const [run] = await connection.ask<PageRow>(
      (t) => `select ${shownColumns(2)}, w.arguments, w.idempotency_key, w.rerun_of, again.id as rerun_as
from ${t.runs} w
${currentRow(t)}
left join lateral (
  select a.id from ${t.events} e join ${t.runs} a on a.id = (e.details->>'workflow_id')::uuid
  where e.workflow_id = w.id and e.name = 'rerun' order by e.id desc limit 1) again on true
where w.id = $1::uuid`,
      [id, stallThreshold, waitingVisibilityThreshold],
    );
    return run;
  }
}

/** @throws {WorkflowNotFoundError} for what is no id at all */
function assertId(id: string): void {
  if (!RUN_ID.test(id)) throw notFound(id);
}

function startOf([createdAt, id]: string[]) {
  return { createdAt: createdAt!, id: id! };
}
