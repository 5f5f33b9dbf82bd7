import { DataSource } from 'typeorm';
import { untilWaitingForLocks } from './support/locks';
import { attemptsOf } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

describe('two bodies of one run that end together', () => {
  const suite = workflowSuite();

  test('OPS-33 IDEM-06 the one that resumeAt took the place of is late, and what follows the other runs once', async () => {
    const { workflows } = await suite.boot([Scripted]);
    const [old, young] = [held(), held()];
    const twos: number[] = [];
    const bodies = [old.body, young.body];
    const run = await workflows.start(
      Scripted,
      script({ one: (ctx) => bodies[ctx.attempt - 1](ctx), two: (ctx) => void twos.push(ctx.attempt) }),
    );
    await old.reached;
    await run.pause();
    await run.resumeAt('one');
    await young.reached;

    // Both flushes are on their way, and wait: what ends now goes together.
    const others = [held(), held()];
    const otherRuns = [];
    for (const { body, reached } of others) {
      otherRuns.push(await workflows.start(Scripted, script({ one: body })));
      await reached;
    }
    const blocker = await new DataSource({ type: 'postgres', url: suite.database.url }).initialize();
    await blocker.transaction(async (manager) => {
      await manager.query('lock table workflow_events in share mode');
      for (const [index, { release }] of others.entries()) {
        release();
        await untilWaitingForLocks(suite, index + 1);
      }
      young.release();
      old.release();
      // Their bodies have ended by then, and stand in the queue.
      await new Promise(setImmediate);
    });
    await blocker.destroy();

    for (const each of [run, ...otherRuns]) await suite.until(each, 'finished');
    await suite.eventually(
      async () => (await suite.trail(run)).includes('late_completion_ignored'),
      'the other outcome came',
    );
    expect(twos).toEqual([1]);
    expect(await attemptsOf(suite.sql, run)).toEqual([
      'one 1 cancelled',
      'one 2 completed',
      'two 1 completed',
      'three 1 completed',
    ]);
    expect(await suite.sql(`select count(*)::int as runs from workflow_events where workflow_id = $1 and name = 'finished'`, [run.id])).toEqual([{ runs: 1 }]); // prettier-ignore
  });
});
