import { isLegal, type RunStatus } from '../model/states.js';
import type { Connection } from '../store/connection.js';
import type { InsightsParts } from './insights.parts.js';
import { epochMs, toMoment } from './moments.js';
import { InvalidQueryError } from './query-error.js';
import { readOne } from './snapshot.js';
import { STUCK_REASONS, stuckParameters, stuckReason, stuckRuns, type StuckReason } from './stuck.js';
import type { AttentionGroup, AttentionView } from './views.js';

/** What a group of stuck runs has in common. */
export type StuckGroup = Pick<AttentionGroup, 'class' | 'step' | 'reason' | 'error_class'>;

/** Groups of an answer, at most. */
const MOST_GROUPS = 200;

/** The status that a run with this reason has. */
export const STATUS_OF: Readonly<Record<StuckReason, RunStatus>> = {
  paused_error: 'paused',
  stalled: 'paused',
  paused_manual: 'paused',
  overdue: 'ready',
  waiting_overdue: 'waiting',
};

interface GroupRow {
  readonly class: string;
  readonly step: string;
  readonly reason: StuckReason;
  readonly error_class: string | null;
  readonly runs: number;
  readonly first_seen_at: number;
  readonly last_seen_at: number;
  readonly error_message: string | null;
  readonly groups_total: number;
  readonly runs_total: number;
}

/**
 * Reads which runs need a person, in groups.
 *
 * @example
 * ```ts
 * const attention = new AttentionReads({ database, registry, settings });
 * const { groups } = await attention.groups({ class: 'OrderWorkflow' });
 * ```
 */
export class AttentionReads {
  constructor(private readonly parts: InsightsParts) {}

  /** The 200 largest groups of stuck runs, largest first, of one class or of all. */
  async groups({ class: only }: { class?: string } = {}): Promise<AttentionView> {
    if (only !== undefined) checkText('class', only);
    const rows = await readOne(this.parts.database, (connection) =>
      connection.ask<GroupRow>(
        (t) => `with stuck as materialized (
  select * from (${stuckRuns(t, 1)}) stuck
), grouped as (
  select workflow_class, step_name, reason, error_class, count(*)::int as runs, min(since) as first_seen, max(since) as last_seen,
         (array_agg(workflow_id order by since desc, workflow_id desc))[1] as latest
  from stuck group by workflow_class, step_name, reason, error_class
), largest as (
  select *, count(*) over ()::int as groups_total, sum(runs) over ()::int as runs_total from grouped
  order by runs desc, last_seen desc, workflow_class, step_name, reason, error_class limit ${MOST_GROUPS}
)
select g.workflow_class as class, g.step_name as step, g.reason, g.error_class, g.runs,
       ${epochMs('g.first_seen')} as first_seen_at, ${epochMs('g.last_seen')} as last_seen_at, newest.error_message,
       g.groups_total, g.runs_total
from largest g join stuck newest on newest.workflow_id = g.latest
order by g.runs desc, g.last_seen desc, g.workflow_class, g.step_name, g.reason, g.error_class`,
        stuckParameters(this.parts.settings, only || null),
      ),
    );
    return {
      groups: rows.map(({ groups_total: _groups, runs_total: _runs, ...row }) => ({
        ...row,
        first_seen_at: toMoment(row.first_seen_at),
        last_seen_at: toMoment(row.last_seen_at),
        actions: isLegal('resume', STATUS_OF[row.reason]) ? ['resume', 'cancel'] : ['cancel'],
      })),
      groups_total: rows[0]?.groups_total ?? 0,
      runs_total: rows[0]?.runs_total ?? 0,
    };
  }

  /** The runs of a group, those that are stuck for longest first, and how many there are in all. */
  async idsOf(group: StuckGroup, limit: number): Promise<{ ids: string[]; total: number }> {
    checkGroup(group);
    const rows = await readOne(this.parts.database, (connection) =>
      connection.ask<{ id: string; total: number }>(
        (t) => `select stuck.workflow_id as id, count(*) over ()::int as total from (${stuckRuns(t, 1)}) stuck
where stuck.step_name = $4::text and stuck.reason = $5::text and stuck.error_class is not distinct from $6::text
order by stuck.since, stuck.workflow_id limit $7::int`,
        [...stuckParameters(this.parts.settings, group.class), group.step, group.reason, group.error_class, limit],
      ),
    );
    return { ids: rows.map(({ id }) => id), total: rows[0]?.total ?? 0 };
  }

  /** Whether the run is of the group: asked under the run's lock, the answer holds for as long as that is held. */
  async isIn(connection: Connection, id: string, group: StuckGroup): Promise<boolean> {
    const { stallThreshold, waitingVisibilityThreshold } = this.parts.settings;
    const rows = await connection.ask(
      (t) => `select from ${t.runs} w cross join lateral (
  select s.status, s.error_class, s.available_at, s.timeout_at, s.waiting_since from ${t.steps} s
  where s.workflow_id = w.id and s.step_name = w.current_step and s.member_index = -1 order by s.attempt desc limit 1) r
where w.id = $3::uuid and w.workflow_class = $4::text and w.current_step = $5::text and ${stuckReason(1)} = $6::text
  and case when r.status = 'failed' then r.error_class end is not distinct from $7::text`,
      [stallThreshold, waitingVisibilityThreshold, id, group.class, group.step, group.reason, group.error_class],
    );
    return rows.length > 0;
  }
}

/** @throws {InvalidQueryError} */
function checkGroup({ class: workflowClass, step, reason, error_class: errorClass }: StuckGroup): void {
  checkText('class', workflowClass);
  checkText('step', step);
  if (errorClass !== null) checkText('error_class', errorClass);
  if (STUCK_REASONS.includes(reason)) return;
  throw new InvalidQueryError('reason', `has to be one of ${STUCK_REASONS.join(', ')}.`);
}

function checkText(field: string, value: unknown): void {
  if (typeof value === 'string' && !value.includes('\0')) return;
  throw new InvalidQueryError(field, 'has to be a text without NUL.');
}
