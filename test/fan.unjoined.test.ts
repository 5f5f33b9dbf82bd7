import { WorkflowRuntime } from '../libs/workflow/src/workflow.runtime';
import { fanning, fanScript, fanTrail, Task } from './support/fan';
import { workflowSuite } from './support/suite';

const Crowd = fanning('Crowd');

/** Members that nobody claims here: a test ends them, as a worker did that was killed right after. */
const elsewhere = { queues: ['default'] };

describe('a batch whose last worker was killed before it could join it', () => {
  const suite = workflowSuite();
  const { sql, until } = suite;

  const parked = async (app: Awaited<ReturnType<typeof suite.boot>>) => {
    const run = await app.workflows.start(
      Crowd,
      fanScript({ fan: (ctx, batch) => batch.add(Task, { script: ctx.args.script, n: 0 }, { queue: 'nobody' }) }),
    );
    await until(run, 'waiting');
    return run;
  };
  const endMembers = (run: { id: string }, ago: string) =>
    sql(
      `update workflow_steps set status = 'completed', started_at = statement_timestamp() - $2::interval,
         finished_at = statement_timestamp() - $2::interval, worker_id = gen_random_uuid()
       where workflow_id = $1 and parent_step_id is not null`,
      [run.id, ago],
    );

  test('FAN-22 FAN-06 any worker joins it once it has been over for a lease, without a sweep', async () => {
    const app = await suite.boot([Crowd, Task], { worker: { ...elsewhere, lease: '1s' } });
    const run = await parked(app);
    await endMembers(run, '2 seconds');
    await until(run, 'finished');
    expect(await fanTrail(run)).toEqual([
      'started',
      'step_scheduled',
      'step_started',
      'fan_out_opened {"size":1}',
      'step_waiting',
      'fan_out_finished {"failed_jobs":0,"total_jobs":1}',
      'step_completed',
      'step_scheduled',
      'step_started',
      'step_completed',
      'finished',
    ]);
  });

  test('SWEEP-12 before that it is left to whoever ended its last member', async () => {
    const app = await suite.boot([Crowd, Task], { worker: { ...elsewhere, lease: '10m', pollInterval: 10 } });
    const run = await parked(app);
    await endMembers(run, '5 seconds');
    const dispatcher = app.app.get(WorkflowRuntime)['dispatcher']!;
    // The patrol's next round is at hand, however long the lease.
    dispatcher['watch']['patrolledAt'] = -Infinity;
    await suite.eventually(() => dispatcher['watch']['patrolledAt'] > 0, 'the patrol has gone by');
    await dispatcher['watch']['looking'];
    expect((await run.reload()).status).toBe('waiting');
    await endMembers(run, '11 minutes');
    dispatcher['watch']['patrolledAt'] = -Infinity;
    await until(run, 'finished');
  });

  test('FAN-22 many waiting batches are gone through page by page, and none is left out', async () => {
    const app = await suite.boot([Crowd, Task], { worker: { ...elsewhere, lease: '1s' } });
    const runs = await app.workflows.startMany(
      Crowd,
      Array.from({ length: 450 }, () =>
        fanScript({ fan: (ctx, batch) => batch.add(Task, { script: ctx.args.script, n: 0 }, { queue: 'nobody' }) }),
      ),
    );
    await suite.eventually(async () => {
      const [{ waiting }] = await sql<{ waiting: number }>(
        `select count(*)::int as waiting from workflows where status = 'waiting'`,
      );
      return waiting === runs.length;
    }, 'all wait');
    const last = runs.toSorted((a, b) => (a.id < b.id ? -1 : 1)).at(-1)!;
    await endMembers(last, '2 seconds');
    expect(await until(last, 'finished')).toBe('finished');
  });
});
