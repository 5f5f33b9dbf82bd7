import type { Tables } from '../store/statement.js';
import type { BoundValues } from './bound-values.js';
import type { CheckedFilter } from './run-filter.js';
import { stuckParameters, stuckRuns, type StuckThresholds } from './stuck.js';

/** Behind which run the page begins. */
export interface PageStart {
  /** Microseconds since 1970: as exact as the database's own. */
  readonly createdAt: string;
  readonly id: string;
}

/** What a list shows of runs: without their arguments, which may be large. */
const COLUMNS = `w.id, w.workflow_class, w.subject_type, w.subject_id, w.status, w.current_step, w.definition_digest,
    w.created_at, w.updated_at, w.paused_at, w.ended_at`;

/**
 * The CTE `page` of a list's runs, newest first, and what it needs before it. Only the conditions that were given stand in it, and it is planned for their
 * values.
 *
 * How runs are found depends on what may be few among many:
 * - ongoing ones class by class, in the order of their index: however many runs have ended since, none of them is walked through;
 * - paused, performing and stuck ones first, whole: they are what people look at, and few; then sorted;
 * - others in the order of their creation.
 */
export function pageOf(
  t: Tables,
  values: BoundValues,
  {
    filter,
    after,
    limit,
    thresholds,
  }: { filter: CheckedFilter; after: PageStart | null; limit: number; thresholds: StuckThresholds },
): string {
  const conditions = [...conditionsOf(t, values, filter), ...(after ? [behind(values, after)] : [])].join('\n  and ');
  const newest = `order by w.created_at desc, w.id desc limit ${values.bind(limit, 'int')}`;
  const candidates = (from: string) =>
    `with candidates as materialized (
  select ${COLUMNS} from ${from} where ${conditions}
), page as materialized (
  select w.* from candidates w ${newest}
)`;

  if (filter.stuck_reason) {
    const place = values.bindAll(stuckParameters(thresholds, filter.class ?? null));
    const reason = values.bind(filter.stuck_reason, 'text');
    return candidates(
      `(${stuckRuns(t, place)}) stuck join ${t.runs} w on stuck.reason = ${reason} and w.id = stuck.workflow_id`,
    );
  }
  const paused = filter.state === 'paused' || (isOngoing(filter) && filter.error_class !== undefined);
  if (paused || filter.state === 'performing') return candidates(`${t.runs} w`);
  if (!isOngoing(filter) || filter.class !== undefined || filter.id !== undefined) {
    return `with page as materialized (
  select ${COLUMNS} from ${t.runs} w where ${conditions} ${newest}
)`;
  }
  return `with recursive class(name) as (
  (select w.workflow_class from ${t.runs} w where w.ended_at is null order by w.workflow_class limit 1)
  union all
  select (select w.workflow_class from ${t.runs} w where w.ended_at is null and w.workflow_class > class.name
          order by w.workflow_class limit 1)
  from class where class.name is not null
), page as materialized (
  select w.* from class cross join lateral (
    select ${COLUMNS} from ${t.runs} w where w.workflow_class = class.name and ${conditions} ${newest}) w
  ${newest}
)`;
}

function isOngoing({ state }: CheckedFilter): boolean {
  return state === 'ongoing' || state === 'ready' || state === 'waiting';
}

function conditionsOf(t: Tables, values: BoundValues, filter: CheckedFilter): string[] {
  const conditions = [...STATE[filter.state](t)];
  const equal = (column: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${column} = ${values.bind(value, 'text')}`);
  };
  equal('w.workflow_class', filter.class);
  equal('w.current_step', filter.step);
  equal('w.subject_type', filter.subject_type);
  equal('w.subject_id', filter.subject_id);
  if (filter.id !== undefined) conditions.push(`w.id = ${values.bind(filter.id, 'uuid')}`);
  const moment = (condition: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${condition} ${values.bind(value, 'timestamptz')}`);
  };
  moment('w.created_at >=', filter.created_from);
  moment('w.created_at <', filter.created_to);
  moment('w.ended_at >=', filter.ended_from);
  moment('w.ended_at <', filter.ended_to);
  // Runs end after they began (a day for a clock that was set back): what was started later is not walked through.
  if (filter.ended_to !== undefined) {
    conditions.push(`w.created_at < ${values.bind(filter.ended_to, 'timestamptz')} + interval '1 day'`);
  }
  if (filter.error_class !== undefined) {
    // An attempt that is open has no error yet: of the ongoing runs only those that are paused may stand on one.
    if (isOngoing(filter)) conditions.push('w.paused_at is not null');
    conditions.push(`(
    select s.error_class from ${t.steps} s
    where s.workflow_id = w.id and s.step_name = w.current_step and s.member_index = -1
    order by s.attempt desc limit 1) = ${values.bind(filter.error_class, 'text')}`);
  }
  return conditions;
}

/** Each as the indexes know it. Who performs is told by the rows in progress, which are few. */
const STATE: Record<CheckedFilter['state'], (t: Tables) => string[]> = {
  all: () => ['true'],
  ongoing: () => ['w.ended_at is null'],
  ready: () => ['w.ended_at is null', `w.status = 'ready'`],
  waiting: () => ['w.ended_at is null', `w.status = 'waiting'`],
  paused: () => ['w.paused_at is not null'],
  performing: (t) => [
    `w.status = 'performing'`,
    `w.id in (select s.workflow_id from ${t.steps} s where s.status = 'in_progress' and s.parent_step_id is null)`,
  ],
  finished: () => ['w.ended_at is not null', `w.status = 'finished'`],
  cancelled: () => ['w.ended_at is not null', `w.status = 'cancelled'`],
};

function behind(values: BoundValues, { createdAt, id }: PageStart): string {
  const micros = values.bind(createdAt, 'bigint');
  return `(w.created_at, w.id) < (timestamptz 'epoch' + ${micros} * interval '1 microsecond', ${values.bind(id, 'uuid')})`;
}
