import { Client } from 'pg';
import { Gauges } from '../libs/workflow/src/insights/gauges';
import type { Connection } from '../libs/workflow/src/store/connection';
import type { Tables } from '../libs/workflow/src/store/statement';
import { createTestDatabase, type TestDatabase } from './support/database';
import { fillEnded, fillScheduled, fillWaiting } from './support/large-tables';
import { flat, indexesOf, seqScansOf, TABLES, type PlanNode } from './support/plans';

describe('reading the gauges where much is scheduled ahead', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    await fillEnded(client);
    await fillWaiting(client);
    await fillScheduled(client, 60_000);
    await client.query(
      `update workflow_steps set available_at = available_at + interval '1 year' where status = 'scheduled'`,
    );
    await client.query('vacuum analyze workflows, workflow_steps');
  });

  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  test('MET-06 MET-11 MET-20 rows that are due later, and those of ended runs, are not read', async () => {
    const [runs, stuck, queues] = await plansOf((connection) =>
      new Gauges(
        { stallThreshold: 3_600_000, waitingVisibilityThreshold: 604_800_000 },
        { classes: [], queues: [] },
      ).read(connection),
    );
    expect(seqScansOf(runs)).not.toContain('workflow_steps');
    for (const nodes of [stuck, queues]) {
      expect(seqScansOf(nodes)).toEqual([]);
      expect(indexesOf(nodes)).toContain('workflow_steps_claim');
      expect(Math.max(...nodes.map(rowsRead))).toBeLessThan(200);
    }
  });

  /** The nodes of each statement's plan, as it ran. */
  async function plansOf(read: (connection: Connection) => Promise<unknown>): Promise<RanNode[][]> {
    const plans: RanNode[][] = [];
    const connection = {
      command: (text: string) => client.query(text),
      ask: async (text: (t: Tables) => string, values: unknown[]) => {
        const { rows } = await client.query(`explain (analyze, timing off, format json) ${text(TABLES)}`, values);
        plans.push(flat(rows[0]['QUERY PLAN'][0].Plan) as RanNode[]);
        return [];
      },
    };
    await client.query('begin');
    await read(connection as unknown as Connection);
    await client.query('rollback');
    return plans;
  }
});

interface RanNode extends PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
}

function rowsRead(node: RanNode): number {
  return node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0));
}
