import { RUN_STATUSES, STEP_STATUSES } from '../libs/workflow/src/model/states';
import { workflowSuite } from './support/suite';

describe('the tables', () => {
  const { sql } = workflowSuite();

  // Its rows are gone before the suite looks at them: they are of no run that ever was.
  describe('refuse', () => {
    const RUN = `insert into workflows (id, workflow_class, subject_type, subject_id, arguments, status, current_step,
      idempotency_key, definition_digest, paused_at, ended_at)
      values (gen_random_uuid(), $1, $2, $3, '{}', $4, 'one', $5, '', case when $4 = 'paused' then now() end,
        case when $4 in ('finished', 'cancelled') then now() end) returning id`;
    const insertRun = async (run: {
      name: string;
      subject?: string;
      status?: string;
      key?: string;
    }): Promise<string> => {
      const { name, subject, status = 'paused', key } = run;
      const [{ id }] = await sql(RUN, [name, subject && 'Order', subject, status, key]);
      return id;
    };
    const insertStep = (workflowId: string, step: { name?: string; attempt?: number; status?: string } = {}) => {
      const { name = 'one', attempt = 1, status = 'completed' } = step;
      return sql(
        `insert into workflow_steps (workflow_id, handler, step_name, attempt, status, queue, scheduled_at, started_at, worker_id,
           finished_at)
         values ($1, 'X', $2, $3, $4, 'default', now(), case when $4 = 'in_progress' then now() end,
           case when $4 = 'in_progress' then gen_random_uuid() end,
           case when $4 in ('completed', 'failed', 'cancelled', 'skipped') then now() end)`,
        [workflowId, name, attempt, status],
      );
    };

    afterEach(() => sql('delete from workflows'));

    test('DATA-02 a second ongoing run of a class for a subject, even by plain SQL', async () => {
      await insertRun({ name: 'A', subject: '1' });
      for (const status of ['ready', 'performing', 'waiting', 'paused']) {
        await expect(insertRun({ name: 'A', subject: '1', status })).rejects.toMatchObject({
          code: '23505',
          constraint: 'workflows_one_ongoing',
        });
      }
      // Ended ones, other classes, other subjects and runs without a subject do not count.
      for (const status of ['finished', 'cancelled']) await insertRun({ name: 'A', subject: '1', status });
      await insertRun({ name: 'B', subject: '1' });
      await insertRun({ name: 'A', subject: '2' });
      await insertRun({ name: 'A' });
      await insertRun({ name: 'A' });
    });

    test('DATA-02 a second run of a class with an idempotency key, ended ones too; runs without are not limited', async () => {
      await insertRun({ name: 'A', key: 'k', status: 'finished' });
      await expect(insertRun({ name: 'A', key: 'k' })).rejects.toMatchObject({ code: '23505' });
      await insertRun({ name: 'B', key: 'k' });
      await insertRun({ name: 'A', key: 'K' });
      await insertRun({ name: 'A' });
    });

    test('DATA-03 a second row of an attempt, and a second open one', async () => {
      const id = await insertRun({ name: 'A' });
      await insertStep(id);
      await expect(insertStep(id)).rejects.toMatchObject({ code: '23505', constraint: 'workflow_steps_one_attempt' });
      await insertStep(id, { attempt: 2, status: 'scheduled' });
      for (const status of ['scheduled', 'waiting', 'in_progress']) {
        await expect(insertStep(id, { name: 'two', status })).rejects.toMatchObject({
          code: '23505',
          constraint: 'workflow_steps_one_open',
        });
      }
    });

    test('DATA-05 a second signal of a run with an idempotency key; signals without are not limited', async () => {
      const id = await insertRun({ name: 'A' });
      const other = await insertRun({ name: 'A' });
      const signal = (workflowId: string, key: string | null, status = 'pending') =>
        sql(
          `insert into workflow_signals (workflow_id, name, payload, idempotency_key, status, claimed_by_step_id)
           values ($1, 'paid', '{}', $2, $3, case when $3 <> 'pending' then 1 end)`,
          [workflowId, key, status],
        );
      await signal(id, 'k');
      await expect(signal(id, 'k')).rejects.toMatchObject({
        code: '23505',
        constraint: 'workflow_signals_one_delivery',
      });
      await signal(other, 'k');
      await signal(id, null);
      await signal(id, null);
      for (const status of ['claimed', 'consumed']) await signal(id, null, status);
      for (const status of ['', 'PENDING', 'ignored', 'ready']) {
        await expect(signal(id, null, status)).rejects.toMatchObject({ code: '23514' });
      }
    });

    test('DATA-06 any status of a run but the six', async () => {
      for (const status of RUN_STATUSES) await insertRun({ name: 'A', status });
      for (const status of ['', 'Ready', 'scheduled', 'in_progress', 'failed', 'running']) {
        await expect(insertRun({ name: 'A', status })).rejects.toMatchObject({
          code: '23514',
          constraint: 'workflows_status_known',
        });
      }
    });

    test('DATA-06 any status of an attempt but the seven', async () => {
      for (const status of STEP_STATUSES) await insertStep(await insertRun({ name: 'A' }), { status });
      const id = await insertRun({ name: 'A' });
      for (const status of ['', 'Completed', 'ready', 'performing', 'finished', 'paused']) {
        await expect(insertStep(id, { status })).rejects.toMatchObject({
          code: '23514',
          constraint: 'workflow_steps_status_known',
        });
      }
    });

    test('DATA-06 an end without its time, and a time without an end', async () => {
      const id = await insertRun({ name: 'A', status: 'finished' });
      await expect(sql('update workflows set ended_at = null where id = $1', [id])).rejects.toMatchObject({
        code: '23514',
      });
      await expect(sql(`update workflows set status = 'ready' where id = $1`, [id])).rejects.toMatchObject({
        code: '23514',
      });
      await insertStep(id);
      await expect(sql('update workflow_steps set finished_at = null')).rejects.toMatchObject({ code: '23514' });
    });
  });
});
