import { FanOut, Step, Workflow, WorkflowJob, WorkflowOf, type Ctx, type FanOutBatch } from 'nestjs-pg-workflows';
import { definitionReadsOf, linkedCounts } from './support/definition-reads';
import { held } from './support/scripted';
import { workflowSuite } from './support/suite';

type Course = 'finishes' | 'fails' | 'cancels' | 'waits' | 'holds' | 'later';
const holding = held();

@WorkflowJob()
class Letter {
  async perform() {}
}

@Workflow()
class Journey extends WorkflowOf<null, { course: Course }> {
  @FanOut()
  async tell(_ctx: Ctx<this>, batch: FanOutBatch) {
    for (let place = 0; place < 3; place += 1) batch.add(Letter, {});
  }

  @Step({ skipIf: (ctx) => ctx.args.course === 'waits' })
  async work(ctx: Ctx<this>) {
    switch (ctx.args.course) {
      case 'fails':
        throw new TypeError('no such road');
      case 'cancels':
        return ctx.cancel();
      case 'holds':
        return holding.body(ctx);
      case 'later':
        return ctx.reattempt({ wait: '1 day' });
      case 'finishes':
      case 'waits':
        return ctx.attempt === 1 ? ctx.reattempt() : undefined;
    }
  }

  @Step({ waitFor: 'go' })
  async end() {}
}

describe('insights of runs that were run', () => {
  const suite = workflowSuite();

  test('INS-01 INS-03 INS-05 INS-08 INS-10 INS-11 INS-13 the numbers are those of the runs, and each count those of its list', async () => {
    const app = await suite.boot([Journey, Letter], { appRevision: 'r42' });
    const { reads, listed, attention } = definitionReadsOf(app);
    const start = (course: Course) => app.workflows.start(Journey, { args: { course } });
    const runs = { finishes: await start('finishes'), fails: await start('fails'), cancels: await start('cancels'), waits: await start('waits'), holds: await start('holds') }; // prettier-ignore
    await runs.finishes.signal('go');
    await suite.until(runs.finishes, 'finished');
    await suite.until(runs.fails, 'paused');
    await suite.until(runs.cancels, 'cancelled');
    await suite.until(runs.waits, 'waiting');
    await holding.reached;
    const later = await start('later');
    await suite.eventually(
      async () => (await suite.trail(later)).includes('step_reattempted'),
      'it is to be tried again',
    );

    const page = await reads.definition('Journey', '1h');
    // The step, runs at it now, attempts that ended with how many failed, were reattempted, were skipped; how many started; runs that got there, and are there.
    const parts = (rate: number | null, of: number) => Math.round((rate ?? 0) * of);
    expect(
      page.pipeline.map(({ step, now, stats }, place) => [
        step,
        Object.values(now).map(({ count }) => count),
        [
          stats.attempts,
          ...[stats.failure_rate, stats.reattempt_rate, stats.skip_rate].map((rate) => parts(rate, stats.attempts)),
        ],
        [stats.run_time.sample_size, stats.pickup.sample_size],
        [page.funnel.steps[place].reached, page.funnel.steps[place].now.count],
      ]),
    ).toEqual([
      ['tell', [0, 0, 0, 0], [6, 0, 0, 0], [6, 6], [6, 0]],
      ['work', [1, 1, 0, 1], [6, 1, 2, 1], [5, 5], [6, 3]],
      ['end', [0, 0, 1, 0], [1, 0, 0, 0], [1, 1], [2, 1]],
    ]);
    const total = (what: 'started' | 'finished' | 'cancelled') =>
      page.series.reduce((sum, bucket) => sum + bucket[what].count, 0);
    expect([total('started'), total('finished'), total('cancelled')]).toEqual([6, 1, 1]);
    expect(page.durations.reduce((sum, { count }) => sum + count, 0)).toBe(1);
    expect(page.end_to_end).toMatchObject({ sample_size: 1, p50_ms: expect.any(Number), note: 'Only 1 sample.' });
    // What a guard skipped, before its body began, is the release's too.
    expect(page.revisions.map(({ revision, attempts, worse }) => [revision, attempts, worse])).toEqual([
      ['r42', 13, false],
    ]);

    const { definitions } = await reads.definitions('1h');
    expect(definitions).toHaveLength(1);
    const { class: name, ongoing, paused, need_attention: stuck, finished, cancelled } = definitions[0];
    expect([name, ongoing.count, paused.count, stuck.count, finished.count, cancelled.count]).toEqual([
      'Journey',
      4,
      1,
      1,
      1,
      1,
    ]);
    const {
      pipeline: _pipeline,
      series: _series,
      durations: _durations,
      funnel: _funnel,
      revisions: _revisions,
      ...same
    } = page;
    expect(same).toMatchObject({
      ongoing: { count: 4 },
      paused: { count: 1 },
      need_attention: { count: 1 },
      end_to_end: definitions[0].end_to_end,
    });

    for (const { place, count, filter, attention: group } of [page, definitions].flatMap((view) =>
      linkedCounts(view),
    )) {
      expect([place, filter ? await listed(filter) : await attention(group!)]).toEqual([place, count]);
    }
    holding.release();
    await suite.until(runs.holds, 'waiting');
  });
});
