import { RemovedStep, Step, Workflow, WorkflowOf } from 'nestjs-pg-workflows';
import { definitionReadsOf, linkedCounts } from './support/definition-reads';
import { leavePast, ran, type PastRun } from './support/past-runs';
import { workflowSuite } from './support/suite';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

@Workflow()
class Billing extends WorkflowOf {
  @Step()
  async one() {}

  @RemovedStep()
  declare two: never;

  @Step()
  async three() {}
}

@Workflow()
class Idle extends WorkflowOf {
  @Step()
  async one() {}
}

describe('the list of definitions', () => {
  const suite = workflowSuite();
  const { sql } = suite;

  const NOW = new Date('2026-03-02T12:00:00.000Z');
  const ongoing = (workflow: string, status: 'ready' | 'paused', step: string): PastRun => ({
    class: workflow,
    created: -2 * HOUR,
    status,
    attempts: [
      status === 'paused'
        ? { step, due: -HOUR, started: -HOUR, ended: -HOUR + SECOND, status: 'failed', outcome: 'paused', error: 'GatewayTimeout' }
        : { step, due: DAY * 300 },
    ],
  }); // prettier-ignore

  afterEach(async () => {
    await sql('delete from workflow_events');
    await sql('delete from workflows');
  });

  test('INS-01 INS-02 INS-15 a row for each class, loaded or only in the tables, with its numbers', async () => {
    const { reads, listed, attention } = definitionReadsOf(await suite.boot([Billing, Idle], { worker: false }));
    await leavePast(sql, NOW, [
      ...[1, 2, 3, 4].map((seconds) => ran('Billing', -HOUR, seconds * SECOND)),
      // Ended in the last moment of the window, in its first, and just outside of it on either side.
      ran('Billing', -1, 5 * SECOND),
      ran('Billing', -DAY, 6 * SECOND),
      ran('Billing', -DAY - 1, HOUR),
      ran('Billing', 0, HOUR),
      { ...ran('Billing', -HOUR, 9 * HOUR), status: 'cancelled' },
      ongoing('Billing', 'ready', 'one'),
      ongoing('Billing', 'ready', 'two'),
      ongoing('Billing', 'paused', 'two'),
      ongoing('Billing', 'paused', 'three'),
      // Of classes that nobody here has: with an ongoing run, and with one that ended long before the window.
      ongoing('Elsewhere', 'paused', 'one'),
      ran('Long ago', -20 * DAY, MINUTE),
    ]);
    const { window, definitions } = await reads.definitions('24h', NOW);
    const [from, to] = ['2026-03-01T12:00:00.000Z', '2026-03-02T12:00:00.000Z'];
    expect(window).toEqual({ window: '24h', from, to, capped: false });
    expect(definitions.map((one) => [one.class, one.loaded, one.on_gravestones])).toEqual([
      ['Billing', true, 2],
      ['Elsewhere', false, null],
      ['Idle', true, 0],
      ['Long ago', false, null],
    ]);
    const [billing, elsewhere, idle, longAgo] = definitions;
    expect(billing).toMatchObject({
      note: null,
      ongoing: { count: 4, filter: { class: 'Billing', state: 'ongoing' } },
      paused: { count: 2, filter: { class: 'Billing', state: 'paused' } },
      need_attention: { count: 2, attention: { class: 'Billing' } },
      finished: { count: 6, filter: { class: 'Billing', state: 'finished', ended_from: from, ended_to: to } },
      cancelled: { count: 1, filter: { class: 'Billing', state: 'cancelled', ended_from: from, ended_to: to } },
      end_to_end: { p50_ms: 3_000, p95_ms: 6_000, sample_size: 6, note: 'Only 6 samples.' },
    });
    expect(elsewhere).toMatchObject({
      note: expect.stringContaining('not loaded in this process'),
      ongoing: { count: 1 },
      paused: { count: 1 },
      need_attention: { count: 1 },
    });
    const nothing = { ongoing: { count: 0 }, paused: { count: 0 }, need_attention: { count: 0 }, finished: { count: 0 },
      end_to_end: { p50_ms: null, p95_ms: null, p99_ms: null, sample_size: 0, note: null } }; // prettier-ignore
    expect(idle).toMatchObject(nothing);
    expect(longAgo).toMatchObject(nothing);

    // INS-13: each count is as many as the list shows by its filter.
    const counts = linkedCounts(definitions);
    expect(counts).toHaveLength(4 * 5);
    for (const { place, count, filter, attention: group } of counts) {
      const shown = filter ? await listed(filter) : await attention(group!);
      expect([place, shown]).toEqual([place, count]);
    }
  });

  test('INS-01 INS-02 a class that comes later, with runs that are over before anybody looks, is found', async () => {
    const { reads } = definitionReadsOf(await suite.boot([], { worker: false }));
    const names = async () => (await reads.definitions('1h')).definitions.map((one) => one.class);
    const now = new Date();
    await leavePast(sql, now, [ran('Before', -20 * DAY, MINUTE)]);
    expect(await names()).toEqual(['Before']);
    await leavePast(sql, now, [ran('New', -SECOND, MINUTE), ongoing('Ongoing', 'ready', 'one')]);
    expect(await names()).toEqual(['Before', 'New', 'Ongoing']);
  });

  test('INS-12 the windows are 1h, 24h (the default), 7d and 30d, no longer than what is kept; another is refused', async () => {
    const { reads } = definitionReadsOf(await suite.boot([Idle], { worker: false, retention: '36h' }));
    await leavePast(
      sql,
      NOW,
      [2, 30, 40, 200].map((hours) => ran('Idle', -hours * HOUR, SECOND)),
    );
    const seen = async (window?: '1h' | '24h' | '7d' | '30d') => {
      const { definitions, window: told } = await reads.definitions(window, NOW);
      return [told.window, told.from, told.capped, definitions[0].finished.count];
    };
    expect(await seen('1h')).toEqual(['1h', '2026-03-02T11:00:00.000Z', false, 0]);
    expect(await seen()).toEqual(['24h', '2026-03-01T12:00:00.000Z', false, 1]);
    expect(await seen('7d')).toEqual(['7d', '2026-03-01T00:00:00.000Z', true, 2]);
    expect(await seen('30d')).toEqual(['30d', '2026-03-01T00:00:00.000Z', true, 2]);
    const page = await reads.definition('Idle', '7d', NOW);
    expect(page.window).toMatchObject({ from: '2026-03-01T00:00:00.000Z', capped: true });
    expect(page.series).toHaveLength(6);

    const kept = definitionReadsOf(await suite.boot([Idle], { worker: false, retention: null }));
    expect((await kept.reads.definitions('30d', NOW)).definitions[0].finished.count).toBe(4);
    const refusal = {
      name: 'InvalidQueryError',
      field: 'window',
      message: '"window" has to be one of 1h, 24h, 7d, 30d.',
    };
    for (const wrong of ['2h', '', 'toString', 24]) {
      await expect(reads.definitions(wrong as '1h')).rejects.toMatchObject(refusal);
      await expect(reads.definition('Idle', wrong as '1h')).rejects.toMatchObject(refusal);
    }
  });
});
