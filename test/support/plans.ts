/** Plans of the engine's own statements, as EXPLAIN gives them. */

import { type Client, escapeLiteral } from 'pg';
import type { Connection } from '../../libs/workflow/src/store/connection';
import type { Statement } from '../../libs/workflow/src/store/statement';

/** From there on PostgreSQL compiles a query's expressions first (JIT), which costs more than these statements may take. */
export const JIT_ABOVE_COST = 100_000;

/** With the values at hand, and for any values. */
export const MODES = ['force_custom_plan', 'force_generic_plan'] as const;

export const TABLES = {
  runs: 'workflows',
  steps: 'workflow_steps',
  events: 'workflow_events',
  signals: 'workflow_signals',
};

/** A node of a plan, as EXPLAIN writes it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: PlanNode[];
}

/** What is sent to the server. */
export interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The one statement that `send` sends: text and values are the engine's own. Nothing is executed. */
export async function statementOf(send: (connection: Connection) => Promise<unknown>): Promise<Sent> {
  const sent: Sent[] = [];
  const connection = {
    run: async (statement: Statement, values: unknown[]) => {
      sent.push({ text: statement.text(TABLES), values });
      return [];
    },
  };
  // Some miss the row they wait for: they were sent all the same.
  await send(connection as unknown as Connection).catch(() => undefined);
  const [statement, ...others] = sent;
  expect(others).toEqual([]);
  return statement;
}

export async function planOf(client: Client, mode: (typeof MODES)[number], { text, values }: Sent): Promise<PlanNode> {
  await client.query(`set plan_cache_mode = ${mode}`);
  await client.query(`prepare hot as ${text}`);
  try {
    const parameters = values.length ? `(${values.map(literal).join(', ')})` : '';
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `explain (format json) execute hot${parameters}`,
    );
    return rows[0]['QUERY PLAN'][0].Plan;
  } finally {
    await client.query('deallocate hot');
  }
}

export function flat(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)];
}

/** The tables that are read whole. */
export function seqScansOf(nodes: readonly PlanNode[]): (string | undefined)[] {
  return nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']);
}

/** The indexes gone by, each as often as it is. */
export function indexesOf(nodes: readonly PlanNode[]): string[] {
  return nodes.flatMap((node) => node['Index Name'] ?? []);
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return escapeLiteral(value.toISOString());
  if (!Array.isArray(value)) return escapeLiteral(String(value));
  return escapeLiteral(`{${value.map((one) => (one === null ? 'null' : JSON.stringify(String(one)))).join(',')}}`);
}
