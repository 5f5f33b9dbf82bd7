import type { Suite } from './suite';

/**
 * What is left of runs after a race, in their order, without ids and times: their status and step, their attempts, signals, members and trail,
 * and the runs that repeat them.
 */
export async function leftOf(sql: Suite['sql'], ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ left: string }>(
    `with runs as (
       select w.*, coalesce(w.rerun_of, w.id) as origin from workflows w where w.id = any($1) or w.rerun_of = any($1)
     ), described as (
       select r.origin, r.rerun_of, r.id, json_build_object(
         'run', concat_ws(' ', r.status, 'at', r.current_step),
         'steps', (select json_agg(concat_ws(' ', s.step_name || '#' || s.attempt, s.status, s.outcome, s.error_class,
                     case when s.available_at is not null then 'claimable' end, case when s.timeout_at is not null then 'deadline' end,
                     case when s.stopped_timeout_at is not null then 'stopped' end, case when s.timed_out then 'timed out' end,
                     'claimed ' || s.claim_no) order by s.id)
                   from workflow_steps s where s.workflow_id = r.id and s.member_index = -1),
         'members', (select json_agg(s.status order by s.id) from workflow_steps s where s.workflow_id = r.id and s.member_index >= 0),
         'signals', (select json_agg(concat_ws(' ', g.name, g.status, s.step_name || '#' || s.attempt) order by g.id)
                     from workflow_signals g left join workflow_steps s on s.id = g.claimed_by_step_id where g.workflow_id = r.id),
         'trail', (select json_agg(e.name order by e.id) from workflow_events e where e.workflow_id = r.id)) as state
       from runs r
     )
     select (select json_agg(d.state order by d.rerun_of is not null, d.id) from described d where d.origin = given.id)::text as left
     from unnest($1::uuid[]) with ordinality as given(id, place) order by place`,
    [ids],
  );
  return rows.map(({ left }) => left);
}
