import { WorkflowHealthIndicator } from 'nestjs-pg-workflows';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
const F = [['ready','waiting'],['ready','in_progress'],['ready','none'],['performing','scheduled'],['performing','waiting'],['performing','none'],['waiting','scheduled'],['waiting','in_progress'],['waiting','none'],['finished','scheduled'],['cancelled','in_progress']] as const;
describe('mend', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;
  test('all', async () => {
    const app = await suite.boot([Scripted], { worker: false });
    const out: string[] = [];
    const ids: string[] = [];
    for (const [rs, ss] of F) {
      const run = await app.workflows.start(Scripted, script({}));
      ids.push(run.id);
      const past = `statement_timestamp() - interval '2 hours'`;
      await sql(`update workflow_steps set status=$2, started_at=${past}, available_at=case when $2='scheduled' then ${past} end, waiting_since=${past}, timeout_at=${past}, worker_id=gen_random_uuid(), worker='lost:1', claim_no=1, lease_expires_at=${past}, wait_for='go', finished_at=case when $2='completed' then ${past} end where workflow_id=$1`, [run.id, ss==='none'?'completed':ss]);
      await sql(`update workflows set status=$2, ended_at=case when $2 in ('finished','cancelled') then statement_timestamp() end where id=$1`, [run.id, rs]);
      const verbs: string[] = [];
      for (const v of ['pause','resume','cancel','skip','runNow'] as const) {
        // skipped: they would change it
        void v;
      }
      out.push(`${rs}/${ss} ${verbs.join()}`);
    }
    const health = async () => (await app.app.get(WorkflowHealthIndicator).isHealthy()).workflows.inconsistentRuns.length;
    out.push(`before ${await health()}`);
    for (const id of ids) {
      await sql(`update workflow_steps set status='cancelled', finished_at=now() where workflow_id=$1 and parent_step_id is null and status in ('scheduled','waiting','in_progress')`, [id]);
      await sql(`update workflow_signals set status='pending', claimed_by_step_id=null, claimed_at=null where workflow_id=$1 and status='claimed'`, [id]);
      await sql(`update workflows w set status='paused', paused_at=now(), ended_at=null, current_step=(select s.step_name from workflow_steps s where s.workflow_id=w.id and s.parent_step_id is null order by s.id desc limit 1) where id=$1`, [id]);
    }
    const worker = await suite.boot([Scripted], { worker: { lease: '1s' } });
    for (const [i, id] of ids.entries()) {
      const run = await worker.workflows.find(id);
      try {
        if (i % 2) await run.resume({ actor: 'a' }); else await run.resumeAt('one', { actor: 'a' });
        await until(run, 'finished');
        out.push(`${F[i]} ok`);
      } catch (e) { out.push(`${F[i]} ${String(e)}`); }
    }
    out.push(`after ${(await worker.app.get(WorkflowHealthIndicator).isHealthy()).workflows.inconsistentRuns.length}`);
    console.log(out.join('\n'));
  }, 120_000);
  test('verbs on them', async () => {
    const app = await suite.boot([Scripted], { worker: false });
    const out: string[] = [];
    for (const [rs, ss] of F) for (const v of ['pause','cancel','skip','runNow'] as const) {
      const run = await app.workflows.start(Scripted, script({}));
      const past = `statement_timestamp() - interval '2 hours'`;
      await sql(`update workflow_steps set status=$2, started_at=${past}, available_at=case when $2='scheduled' then ${past} end, waiting_since=${past}, worker_id=gen_random_uuid(), worker='lost:1', claim_no=1, lease_expires_at=${past}, wait_for='go', finished_at=case when $2='completed' then ${past} end where workflow_id=$1`, [run.id, ss==='none'?'completed':ss]);
      await sql(`update workflows set status=$2, ended_at=case when $2 in ('finished','cancelled') then statement_timestamp() end where id=$1`, [run.id, rs]);
      const r = await app.workflows.find(run.id);
      const res = await r[v]({ actor: 'x' } as never).then(() => 'done', (e: Error) => `${e.name}: ${e.message.slice(0,90)}`);
      out.push(`${rs}/${ss} ${v}: ${res}`);
      await sql('delete from workflow_events where workflow_id=$1', [run.id]);
      await sql('delete from workflows where id=$1', [run.id]);
    }
    console.log(out.join('\n'));
  }, 120_000);
});
