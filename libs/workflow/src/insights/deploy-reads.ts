import type { RunStatus } from '../model/states.js';
import type { Connection } from '../store/connection.js';

/** Ongoing runs of one class, step and status. */
export interface StandingRuns {
  readonly workflow_class: string;
  readonly step: string;
  readonly status: RunStatus;
  /** SHA-256 of the list of steps that they began on. */
  readonly digest: string;
  readonly runs: number;
}

/** Open attempts that wait for a signal, of one class and step. */
interface WaitingRuns {
  readonly workflow_class: string;
  readonly step: string;
  /** What it waited for when it was parked; null in rows that do not say. */
  readonly wait_for: string | null;
  readonly runs: number;
}

/** Members of fan-outs that have not ended, of one job and one step that opened them. */
interface OpenMembers {
  readonly job: string;
  readonly workflow_class: string;
  readonly step: string;
  readonly members: number;
  readonly runs: number;
}

/** Ongoing runs of a class, by the type of their subject. */
interface SubjectTypes {
  readonly workflow_class: string;
  readonly subject_type: string;
  readonly runs: number;
}

/** What is in flight, as far as a build of the application has to know it. */
export interface InFlight {
  readonly standing: readonly StandingRuns[];
  readonly waiting: readonly WaitingRuns[];
  readonly members: readonly OpenMembers[];
  readonly subjects: readonly SubjectTypes[];
}

/** Counts what is in flight. It reads columns of schema 1 alone: a build is checked before the tables are migrated for it. */
export async function readInFlight(connection: Connection): Promise<InFlight> {
  return {
    standing: await connection.ask<StandingRuns>(
      (
        t,
      ) => `select w.workflow_class, w.current_step as step, w.status, w.definition_digest as digest, count(*)::float8 as runs
from ${t.runs} w where w.ended_at is null group by 1, 2, 3, 4 order by 1, 2, 3`,
      [],
    ),
    waiting: await connection.ask<WaitingRuns>(
      (t) => `select s.handler as workflow_class, s.step_name as step, s.wait_for, count(*)::float8 as runs
from ${t.steps} s where s.status = 'waiting' and s.batch_size is null group by 1, 2, 3 order by 1, 2, 3`,
      [],
    ),
    members: await connection.ask<OpenMembers>(
      (
        t,
      ) => `select s.handler as job, opener.handler as workflow_class, opener.step_name as step, count(*)::float8 as members,
  count(distinct s.workflow_id)::float8 as runs
from ${t.steps} s join ${t.steps} opener on opener.id = s.parent_step_id
where s.parent_step_id is not null and s.status in ('scheduled', 'in_progress') group by 1, 2, 3 order by 1, 2, 3`,
      [],
    ),
    subjects: await connection.ask<SubjectTypes>(
      (t) => `select w.workflow_class, w.subject_type, count(*)::float8 as runs
from ${t.runs} w where w.ended_at is null and w.subject_type is not null group by 1, 2 order by 1, 2`,
      [],
    ),
  };
}
