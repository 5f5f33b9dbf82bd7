import { randomUUID } from 'node:crypto';
import { attemptsOf } from './support/rows';
import { held, script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

describe('leases', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;

  /** The row of a worker that was killed: claimed, and its lease runs out. */
  const orphan = (run: { id: string }) =>
    sql(
      `with row as (update workflow_steps set status = 'in_progress', started_at = now(), claim_no = claim_no + 1, worker_id = $2, worker = 'gone:1',
         lease_expires_at = now() + interval '100 milliseconds' where workflow_id = $1 and status = 'scheduled' returning id),
       trail as (insert into workflow_events (workflow_id, step_id, name, actor) select $1, id, 'step_started', 'system' from row)
       update workflows set status = 'performing' where id = $1`,
      [run.id, randomUUID()],
    );

  test('SWEEP-01 a row whose worker is gone gets stallAction long before the sweep', async () => {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const run = await workflows.start(Scripted, script({}));
    await orphan(run);
    await suite.boot([Scripted], { worker: { lease: '1s' } });
    await until(run, 'paused');
    expect(await trail(run)).toEqual([
      'started',
      'step_scheduled',
      'step_started',
      'stall_detected',
      'step_failed',
      'paused',
    ]);
    expect((await run.steps())[0]).toMatchObject({ status: 'failed', error: { class: 'StepStalledError' } });
  });

  test('SWEEP-02 a live worker keeps its row', async () => {
    const one = held();
    const { workflows } = await suite.boot([Scripted], { worker: { lease: '1s' } });
    const other = await suite.boot([Scripted], { worker: { lease: '1s' } });
    const run = await workflows.start(Scripted, script({ one: one.body }));
    await one.reached;
    await new Promise((resolve) => setTimeout(resolve, 4000));
    one.release();
    await until(run, 'finished');
    void other;
    expect(await attemptsOf(sql, run)).toHaveLength(3);
  });
});
