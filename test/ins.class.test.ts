import { FanOut, RemovedStep, Step, Workflow, WorkflowOf, matcher } from 'nestjs-pg-workflows';
import { definitionReadsOf, linkedCounts } from './support/definition-reads';
import { leavePast, ran, type PastAttempt, type PastRun } from './support/past-runs';
import { workflowSuite } from './support/suite';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = new Date('2026-03-02T12:00:00.000Z');

@Workflow({ name: 'shop.Order/v2:eu' })
class Order extends WorkflowOf {
  @Step({ waitFor: 'paid', waitTimeout: '36 hours' })
  async pay() {}

  @Step({ waitFor: matcher('shipped', () => true), waitTimeout: 'until' })
  async ship() {}

  @RemovedStep()
  declare inspect: never;

  @Step({ waitFor: 'returned' })
  async close() {}

  @FanOut()
  async tell() {}

  until() {
    return null;
  }
}
const ORDER = 'shop.Order/v2:eu';

@Workflow()
class One extends WorkflowOf {
  @Step()
  async one() {}

  @Step()
  async two() {}

  @Step()
  async three() {}
}

describe('the page of a class', () => {
  const suite = workflowSuite();
  const { sql } = suite;

  afterEach(async () => {
    await sql('delete from workflow_events');
    await sql('delete from workflows');
  });

  const boot = async (options = {}) => definitionReadsOf(await suite.boot([Order, One], { worker: false, ...options }));

  test('INS-03 INS-06 INS-02 the pipeline: the declared steps in order, what they wait for, who is at them; then steps of the tables', async () => {
    const { reads } = await boot();
    const run = (status: PastRun['status'], attempt: Omit<PastAttempt, 'due'>): PastRun => ({
      class: ORDER,
      created: -40 * DAY,
      status,
      attempts: [{ due: -40 * DAY, ...attempt }],
    });
    await leavePast(sql, NOW, [
      run('ready', { step: 'pay' }),
      run('ready', { step: 'pay' }),
      run('performing', { step: 'pay', started: -DAY }),
      run('waiting', { step: 'ship', status: 'waiting' }),
      run('paused', { step: 'ship', status: 'waiting' }),
      // The pause caught its body at work: it counts as paused, and only there.
      run('paused', { step: 'ship', started: -DAY }),
      run('ready', { step: 'inspect' }),
      run('ready', { step: 'renamed' }),
    ]);
    const page = await reads.definition(ORDER, '1h', NOW);
    expect(
      page.pipeline.map(({ step, kind, wait_for: waitFor, wait_timeout: timeout, now }) => [
        step,
        kind,
        waitFor,
        timeout,
        Object.values(now).map(({ count }) => count),
      ]),
    ).toEqual([
      ['pay', 'step', 'signal "paid"', '1d 12h', [2, 1, 0, 0]],
      ['ship', 'step', 'signal that matches "shipped"', 'dynamic (per run)', [0, 0, 1, 2]],
      ['inspect', 'removed', null, null, [1, 0, 0, 0]],
      ['close', 'step', 'signal "returned"', null, [0, 0, 0, 0]],
      ['tell', 'fan_out', null, null, [0, 0, 0, 0]],
      ['renamed', null, null, null, [1, 0, 0, 0]],
    ]);
    expect(page.pipeline[0].now).toMatchObject({
      scheduled: { filter: { class: ORDER, step: 'pay', state: 'ready' } },
      running: { filter: { class: ORDER, step: 'pay', state: 'performing' } },
      waiting: { filter: { class: ORDER, step: 'pay', state: 'waiting' } },
      paused: { filter: { class: ORDER, step: 'pay', state: 'paused' } },
    });
    expect(page).toMatchObject({
      class: ORDER,
      loaded: true,
      ongoing: { count: 8 },
      paused: { count: 2 },
      on_gravestones: 1,
    });
  });

  test('INS-02 a class that is only in the tables has its numbers, its steps in the order in which they were met; one in neither is not found', async () => {
    const { reads } = await boot();
    const steps = ['zebra', 'ant', 'cat'].map((step, place) => {
      const at = -HOUR + place * SECOND;
      return { step, due: at, started: at, ended: at + SECOND };
    });
    await leavePast(sql, NOW, [
      { class: 'Gone', created: -HOUR, status: 'finished', ended: -HOUR + 3 * SECOND, attempts: steps },
      ran('Gone long ago', -90 * DAY, SECOND),
    ]);
    const gone = await reads.definition('Gone', '24h', NOW);
    expect(gone).toMatchObject({
      loaded: false,
      note: expect.stringContaining('not loaded'),
      on_gravestones: null,
      finished: { count: 1 },
    });
    expect(gone.pipeline.map(({ step, kind, stats }) => [step, kind, stats.attempts])).toEqual([
      ['zebra', null, 1],
      ['ant', null, 1],
      ['cat', null, 1],
    ]);
    expect(gone.funnel.steps.map(({ step, reached }) => [step, reached])).toEqual([['zebra', 1], ['ant', 1], ['cat', 1]]); // prettier-ignore
    expect(await reads.definition('Gone long ago', '24h', NOW)).toMatchObject({ loaded: false, pipeline: [] });
    await expect(reads.definition(`Nobody's`, '24h')).rejects.toMatchObject({
      code: 'WORKFLOW_NOT_FOUND',
      message: expect.stringMatching(/no workflow class "Nobody's".*Loaded: shop\.Order\/v2:eu, One\./),
    });
  });

  test('INS-04 INS-07 run times and pickup of the attempts that ended in the window, whenever their runs began', async () => {
    const { reads } = await boot();
    const attempt = (ended: number, took: number, picked: number): PastAttempt => ({
      step: 'one',
      due: ended - took - picked,
      started: ended - took,
      ended,
    });
    // 21 attempts of 1 to 21 s, picked up after 10 to 210 ms, each in a run begun weeks ago; one in two of the runs still goes on.
    const long = Array.from({ length: 21 }, (_, place): PastRun => {
      const first = attempt(-HOUR, (place + 1) * SECOND, (place + 1) * 10);
      return place % 2
        ? { class: 'One', created: -25 * DAY, status: 'finished', ended: -MINUTE, attempts: [first] }
        : { class: 'One', created: -25 * DAY, status: 'ready', attempts: [first, { step: 'two', due: DAY }] };
    });
    const outside = [
      ran('One', -DAY - 1, HOUR),
      ran('One', 0, HOUR),
      ran('Another', -HOUR, HOUR),
      // Its first attempt ended before the window; the run has been written to since.
      {
        class: 'One',
        created: -25 * DAY,
        status: 'finished',
        ended: -MINUTE,
        attempts: [attempt(-2 * DAY, HOUR, HOUR), { ...attempt(-MINUTE, 7 * SECOND, 5), step: 'three' }],
      },
    ] satisfies PastRun[];
    await leavePast(sql, NOW, [...long, ...outside]);
    const { pipeline } = await reads.definition('One', '24h', NOW);
    const [one, two, three] = pipeline.map(({ stats }) => stats);
    expect(one).toMatchObject({
      attempts: 21,
      run_time: { p50_ms: 11_000, p95_ms: 20_000, p99_ms: 21_000, sample_size: 21, note: null },
      pickup: { p50_ms: 110, p95_ms: 200, p99_ms: 210, sample_size: 21, note: null },
    });
    const none = { p50_ms: null, p95_ms: null, p99_ms: null, sample_size: 0, note: null };
    expect(two).toEqual({
      attempts: 0,
      run_time: none,
      pickup: none,
      failure_rate: null,
      reattempt_rate: null,
      skip_rate: null,
    });
    expect(three).toMatchObject({
      attempts: 1,
      run_time: { p50_ms: 7_000, p95_ms: 7_000, p99_ms: 7_000, sample_size: 1, note: 'Only 1 sample.' },
      pickup: { p50_ms: 5, sample_size: 1, note: 'Only 1 sample.' },
    });
    // In the last hour but one attempt ended.
    expect((await reads.definition('One', '1h', NOW)).pipeline[0].stats.attempts).toBe(21);
    expect((await reads.definition('One', '1h', new Date(NOW.getTime() + 1))).pipeline[0].stats.attempts).toBe(1);
  });

  test('INS-07 nineteen samples have a note, twenty have none', async () => {
    const { reads } = await boot();
    const notes = async () => {
      const { pipeline, end_to_end: whole } = await reads.definition('One', '24h', NOW);
      return [pipeline[0].stats.run_time.note, pipeline[0].stats.pickup.note, whole.note];
    };
    await leavePast(
      sql,
      NOW,
      Array.from({ length: 19 }, () => ran('One', -HOUR, SECOND)),
    );
    expect(await notes()).toEqual(Array(3).fill('Only 19 samples.'));
    await leavePast(sql, NOW, [ran('One', -HOUR, SECOND)]);
    expect(await notes()).toEqual([null, null, null]);
  });

  test('INS-04 AMB-23 pickup counts from the last due time; what never started has neither pickup nor run time', async () => {
    const { reads } = await boot();
    await leavePast(sql, NOW, [
      // Woken, or moved: it was scheduled for two hours earlier.
      ran('One', -HOUR, SECOND, { scheduled: -3 * HOUR, due: -HOUR - SECOND - 40 }),
      // A batch that was told to be joined is due after its body has run: what counts is the time before.
      ran('One', -HOUR, SECOND, { scheduled: -HOUR - SECOND - 60, due: -HOUR - 1 }),
      {
        class: 'One',
        created: -HOUR,
        status: 'finished',
        ended: -MINUTE,
        attempts: [{ step: 'one', due: -HOUR, ended: -MINUTE, status: 'skipped', outcome: 'skipped' }],
      },
    ]);
    const { stats } = (await reads.definition('One', '24h', NOW)).pipeline[0];
    expect(stats).toMatchObject({
      attempts: 3,
      skip_rate: 1 / 3,
      pickup: { p50_ms: 40, p95_ms: 60, sample_size: 2 },
      run_time: { p50_ms: 1_000, sample_size: 2 },
    });
  });

  test('INS-05 AMB-03 failure, reattempt and skip rates are parts of all attempts that ended', async () => {
    const { reads } = await boot();
    const at = { step: 'one', due: -HOUR, started: -HOUR, ended: -HOUR + SECOND };
    const attempts: PastAttempt[] = [
      { ...at, status: 'failed', outcome: 'reattempted', error: 'GatewayTimeout' },
      // A body's own reattempt records no error.
      { ...at, status: 'failed', outcome: 'reattempted' },
      { ...at, status: 'failed', outcome: 'paused', error: 'GatewayTimeout' },
      { ...at, status: 'skipped', outcome: 'skipped', error: 'GatewayTimeout' },
    ];
    const skipped: PastAttempt = { step: 'one', due: -HOUR, ended: -HOUR, status: 'skipped', outcome: 'skipped' };
    await leavePast(sql, NOW, [
      { class: 'One', created: -HOUR, status: 'finished', ended: -MINUTE, attempts },
      { class: 'One', created: -HOUR, status: 'finished', ended: -MINUTE, attempts: [skipped] },
      { class: 'One', created: -HOUR, status: 'cancelled', ended: -MINUTE, attempts: [{ ...at, status: 'cancelled' }] },
      ran('One', -HOUR, SECOND),
      ran('One', -HOUR, SECOND),
      ran('One', -HOUR, SECOND),
    ]);
    const { stats } = (await reads.definition('One', '24h', NOW)).pipeline[0];
    expect(stats).toMatchObject({ attempts: 9, failure_rate: 3 / 9, reattempt_rate: 2 / 9, skip_rate: 2 / 9 });
  });

  test('INS-08 INS-09 started, finished and cancelled per bucket, the empty ones too; the distribution of end-to-end durations', async () => {
    const { reads, listed } = await boot();
    await leavePast(sql, NOW, [
      // On the edge between two buckets: it belongs to the later one.
      ran('One', -HOUR, 5 * MINUTE),
      ran('One', -HOUR - 1, 5 * MINUTE - 1),
      ran('One', -1, 9),
      ran('One', -1, 10),
      { ...ran('One', -2 * DAY, MINUTE), status: 'cancelled' },
      ran('One', -DAY, 40 * DAY),
    ]);
    const seen = async (window: '1h' | '24h' | '7d' | '30d') => {
      const { series } = await reads.definition('One', window, NOW);
      for (const [place, bucket] of series.entries()) {
        expect(bucket.from).toBe(series[place - 1]?.to ?? bucket.from);
      }
      expect(series.at(-1)!.to).toBe(NOW.toISOString());
      const filled = series.flatMap(({ from, started, finished, cancelled }) =>
        started.count + finished.count + cancelled.count
          ? [[from, started.count, finished.count, cancelled.count]]
          : [],
      );
      const lengths = new Set(series.map(({ from, to }) => Date.parse(to) - Date.parse(from)));
      return { buckets: series.length, lengths: [...lengths], filled };
    };
    expect(await seen('1h')).toEqual({
      buckets: 12,
      lengths: [5 * MINUTE],
      filled: [
        ['2026-03-02T11:00:00.000Z', 0, 1, 0],
        ['2026-03-02T11:55:00.000Z', 2, 2, 0],
      ],
    });
    expect(await seen('24h')).toEqual({
      buckets: 24,
      lengths: [HOUR],
      filled: [
        ['2026-03-01T12:00:00.000Z', 0, 1, 0],
        ['2026-03-02T10:00:00.000Z', 2, 1, 0],
        ['2026-03-02T11:00:00.000Z', 2, 3, 0],
      ],
    });
    expect(await seen('7d')).toMatchObject({ buckets: 28, lengths: [6 * HOUR] });
    expect(await seen('30d')).toMatchObject({
      buckets: 30,
      lengths: [DAY],
      filled: [
        ['2026-02-27T12:00:00.000Z', 1, 0, 0],
        ['2026-02-28T12:00:00.000Z', 0, 0, 1],
        ['2026-03-01T12:00:00.000Z', 4, 5, 0],
      ],
    });

    const page = await reads.definition('One', '24h', NOW);
    expect(page.durations).toHaveLength(20);
    expect(page.durations.filter(({ count }) => count)).toEqual([
      { from_ms: 0, to_ms: 10, count: 1 },
      { from_ms: 10, to_ms: 30, count: 1 },
      { from_ms: 3 * MINUTE, to_ms: 10 * MINUTE, count: 2 },
      { from_ms: 30 * DAY, to_ms: null, count: 1 },
    ]);
    expect(page.end_to_end).toMatchObject({ sample_size: 5, p50_ms: 5 * MINUTE - 1 });
    for (const { place, count, filter } of linkedCounts(page).filter((found) => found.filter)) {
      expect([place, await listed(filter!)]).toEqual([place, count]);
    }
  });

  test('INS-10 INS-13 the funnel: how many runs of the window reached each step, and where they are now; a step run again counts once', async () => {
    const { reads, listed } = await boot();
    const at = (step: string): PastAttempt => ({ step, due: -HOUR, started: -HOUR, ended: -HOUR + SECOND });
    const failed: PastAttempt = { ...at('one'), status: 'failed', outcome: 'reattempted', error: 'GatewayTimeout' };
    const skipped: PastAttempt = { step: 'two', due: -HOUR, ended: -HOUR, status: 'skipped', outcome: 'skipped' };
    const run = (status: PastRun['status'], attempts: PastAttempt[], ended?: number): PastRun => ({
      class: 'One',
      created: -2 * HOUR,
      status,
      attempts,
      ended,
    });
    await leavePast(sql, NOW, [
      run('finished', [failed, at('one'), at('two'), at('three')], -MINUTE),
      run('finished', [at('one'), skipped, at('three'), at('one'), at('two'), at('three')], -MINUTE),
      run('cancelled', [at('one'), at('two')], -MINUTE),
      run('ready', [at('one'), { step: 'two', due: DAY }]),
      run('paused', [failed, { ...failed, outcome: 'paused' }]),
      run('waiting', [at('one'), at('two'), { step: 'three', due: -HOUR, status: 'waiting' }]),
      // Begun before the window, and in it again since.
      { ...run('ready', [at('one'), { step: 'two', due: DAY }]), created: -DAY - 1 },
      { ...run('finished', [at('one'), at('two'), at('three')], -MINUTE), created: -DAY - 1 },
    ]);
    const page = await reads.definition('One', '24h', NOW);
    const { funnel } = page;
    expect(funnel.started.count).toBe(6);
    expect(funnel.steps.map(({ step, reached, now }) => [step, reached, now.count])).toEqual([
      ['one', 6, 1],
      ['two', 4 + 1, 1],
      ['three', 3, 1],
    ]);
    expect([funnel.finished.count, funnel.cancelled.count]).toEqual([2, 1]);
    const window = { created_from: '2026-03-01T12:00:00.000Z', created_to: '2026-03-02T12:00:00.000Z' };
    expect(funnel.steps[1].now.filter).toEqual({ class: 'One', state: 'ongoing', step: 'two', ...window });
    expect(funnel.finished.filter).toEqual({ class: 'One', state: 'finished', ...window });
    const counts = linkedCounts(page);
    expect(counts.map(({ place }) => place).filter((place) => /reached|stats|revisions|durations/.test(place))).toEqual(
      [],
    );
    for (const { place, count, filter } of counts.filter((found) => found.filter)) {
      expect([place, await listed(filter!)]).toEqual([place, count]);
    }
  });

  test('INS-11 the five newest revisions that ended an attempt, newest first; a failure rate more than five points up is marked', async () => {
    const { reads } = await boot();
    const hour = (place: number) => -20 * HOUR + place * HOUR;
    const of = (revision: string, place: number, runs: number, failures: number): PastRun[] =>
      Array.from({ length: runs }, (_, index) => {
        const ended = hour(place) + index * MINUTE;
        const failed = index < failures;
        const attempt = ran('One', ended, SECOND, {
          revision,
          ...(failed && { status: 'failed', outcome: 'paused', error: 'GatewayTimeout' }),
        });
        return failed ? { ...attempt, status: 'paused', ended: undefined } : attempt;
      });
    await leavePast(sql, NOW, [
      ...of('r1', 0, 20, 0),
      ...of('r2', 1, 20, 2),
      // Exactly five points up, which is not more.
      ...of('r3', 2, 20, 3),
      ...of('r4', 3, 10, 1),
      ...of('r5', 4, 25, 4),
      // Up by more than five again; its last attempt ended before one of the revision before it did.
      ...of('r6', 5, 4, 1),
      ...of('r5', 9, 1, 0),
      ran('One', -MINUTE, SECOND),
      ran('One', -2 * DAY, SECOND, { revision: 'older' }),
      ran('Another', -MINUTE, SECOND, { revision: 'another' }),
    ]);
    const told = (await reads.definition('One', '24h', NOW)).revisions;
    expect(told.map(({ revision, attempts, failure_rate: rate, worse }) => [revision, attempts, rate, worse])).toEqual([
      ['r6', 4, 0.25, true],
      ['r5', 26, 4 / 26, true],
      ['r4', 10, 0.1, false],
      ['r3', 20, 0.15, false],
      // Its predecessor is no longer among the five.
      ['r2', 20, 0.1, true],
    ]);
    expect(told[1]).toMatchObject({
      first_ended_at: '2026-03-01T20:00:00.000Z',
      run_time: { p50_ms: 1_000, sample_size: 26, note: null },
      reattempt_rate: 0,
      skip_rate: 0,
    });
    expect(told[0].run_time.note).toBe('Only 4 samples.');
  });
});
