import { Client } from 'pg';
import { type InsightsParts } from '../libs/workflow/src/insights/insights.parts';
import { type RunFilter } from '../libs/workflow/src/insights/run-filter';
import { RunReads } from '../libs/workflow/src/insights/run-reads';
import type { Tables } from '../libs/workflow/src/store/statement';
import { createTestDatabase, type TestDatabase } from './support/database';
import { fillEnded, fillScheduled, fillWaiting } from './support/large-tables';
import { flat, seqScansOf, TABLES, type PlanNode } from './support/plans';

/** A node that was executed. */
interface RanNode extends PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
}

describe('the list of runs with many more of them than a page', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    // The ended ones are the newest: a walk by creation would meet all of them before it finds one that is ongoing.
    await fillEnded(client);
    await fillWaiting(client);
    await fillScheduled(client, 20_000);
    await client.query(
      `update workflows set created_at = coalesce(ended_at - interval '1 minute', created_at - interval '40 days')`,
    );
    await client.query('vacuum analyze workflows, workflow_steps');
  });

  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  test.each<[string, RunFilter, string]>([
    ['ongoing ones, of all classes', {}, 'workflows_ongoing'],
    ['ongoing ones of a class', { class: 'Class1' }, 'workflows_ongoing'],
    ['those that are ready', { state: 'ready' }, 'workflows_ongoing'],
    ['those that ended', { state: 'finished' }, 'workflows_newest'],
    ['all', { state: 'all' }, 'workflows_newest'],
    ['those that are paused', { state: 'paused' }, 'workflows_paused'],
    ['those that stand on an error', { error_class: 'Declined' }, 'workflows_paused'],
    ['those at work', { state: 'performing' }, 'workflow_steps_in_progress'],
    [
      'those that ended in a short while',
      { state: 'finished', ended_from: ago(180), ended_to: ago(120) },
      'workflows_ended',
    ],
    ['a subject’s', { subject_type: 'Order', subject_id: 'waiting 7' }, 'workflows_one_ongoing'],
  ])(
    'DASH-01 DASH-04 %s are found by an index that has them, and no more is read than is shown',
    async (_, filter, index) => {
      const nodes = await ranFor(filter);
      expect(nodes.map((node) => node['Index Name'])).toContain(index);
      expect(seqScansOf(nodes)).toEqual([]);
      const read = nodes.map(
        (node) => node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
      );
      // Five classes with a page each, or an hour's runs. A status has no index of its own: these are the newest ones.
      expect(Math.max(...read)).toBeLessThan(600);
    },
  );

  /** The nodes of the list's plan, as it ran. */
  async function ranFor(filter: RunFilter): Promise<RanNode[]> {
    let nodes: RanNode[] = [];
    const connection = {
      ask: async (text: (t: Tables) => string, values: unknown[]) => {
        const { rows } = await client.query(`explain (analyze, timing off, format json) ${text(TABLES)}`, values);
        nodes = flat(rows[0]['QUERY PLAN'][0].Plan) as RanNode[];
        return [];
      },
    };
    const parts = {
      database: { connect: (use: (of: typeof connection) => unknown) => use(connection) },
      settings: { stallThreshold: 3_600_000, waitingVisibilityThreshold: 604_800_000 },
    };
    await new RunReads(parts as unknown as InsightsParts).list(filter);
    return nodes;
  }
});

function ago(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}
