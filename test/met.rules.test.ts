import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bootMetricsApp, type MetricsApp } from './support/metrics-app';
import { describeWithPrometheus, promtool } from './support/prometheus';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';
import { passDeadline, waiting } from './support/waits';

const FOLDER = path.join(__dirname, '../libs/workflow/monitoring');
const file = (name: string) => path.join(FOLDER, name);
const read = (name: string) => readFileSync(file(name), 'utf8');

interface Dashboard {
  readonly templating: {
    readonly list: { readonly name: string; readonly type: string; readonly query: string | { query: string } }[];
  };
  readonly panels: {
    readonly title: string;
    readonly datasource: { uid: string };
    readonly targets: { expr: string; datasource: { uid: string } }[];
  }[];
}

const dashboard = JSON.parse(read('grafana-dashboard.json')) as Dashboard;
const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** `label_values(metric, label)` of the variables, as a query by that label. */
const variables = dashboard.templating.list.flatMap(({ query }) =>
  typeof query === 'string' ? [] : query.query.replace(/^label_values\((.*), (\w+)\)$/, 'sum by ($2) ($1)'),
);

/** The expressions of the rules, however YAML has them. */
const expressions = [...read('alerts.rules.yml').matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/gm)].map(
  ([, block, line]) => block ?? line,
);

const Notified = waiting({ waitTimeout: '1 hour', onTimeout: 'notify' });

/** A query's metrics, each with the labels that the query names about it. */
function metricsOf(query: string): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>();
  const grouped = [...query.matchAll(/(?:by|on|without) \(([^)]*)\)/g)].flatMap(([, labels]) => labels.split(/, */));
  for (const [, name, matchers = ''] of query.matchAll(/\b(workflows?(?:_\w+)?)\b(?:\{([^}]*)\})?/g)) {
    if (name === 'workflow_class') continue;
    const matched = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label);
    used.set(name, new Set([...(used.get(name) ?? []), ...grouped, ...matched]));
  }
  return used;
}

describe('alert rules and dashboard', () => {
  const suite = workflowSuite();
  let app: MetricsApp | undefined;
  afterEach(() => app?.close());

  test('MET-14 MET-19 each query names metrics and labels that a real application shows', async () => {
    app = await bootMetricsApp(suite, [Scripted, Notified]);
    await suite.until(await app.workflows.start(Scripted, script({ one: (ctx) => ctx.pause() })), 'paused');
    const late = await app.workflows.start(Notified);
    await suite.until(late, 'waiting');
    await passDeadline(suite.sql, late);
    const shown = new Map<string, Set<string>>();
    await suite.eventually(async () => {
      for (const key of (await app!.scrape()).keys()) {
        const [, name, labels] = /^(\w+)\{(.*)\}$/.exec(key)!;
        shown.set(name, new Set([...labels.matchAll(/(\w+)="/g)].map(([, label]) => label)));
      }
      return shown.has('workflows_stuck') && shown.has('workflow_wait_overdue_total');
    }, 'all metrics are shown');
    expect(expressions).toHaveLength(3);
    expect(variables).toHaveLength(2);
    for (const query of [...expressions, ...queries, ...variables]) {
      const used = metricsOf(query);
      expect([query, used.size]).not.toEqual([query, 0]);
      for (const [name, labels] of used) {
        expect([...shown.keys()]).toContain(name);
        expect([...shown.get(name)!]).toEqual(expect.arrayContaining([...labels]));
      }
    }
    expect([...metricsOf(expressions[0])]).toEqual([
      ['workflow_steps_total', new Set(['workflow_class', 'step', 'outcome'])],
    ]);
  });

  test('MET-19 five panels, each asking the data source that the reader has chosen', () => {
    expect(dashboard.panels.map(({ title }) => title)).toEqual([
      'Steps per outcome',
      'Step run time',
      'Runs by status',
      'Stuck runs',
      'Late waits',
    ]);
    const sources = dashboard.panels.flatMap(({ datasource, targets }) => [datasource.uid, ...targets.map((one) => one.datasource.uid)]); // prettier-ignore
    expect(new Set(sources)).toEqual(new Set(['${datasource}']));
    expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(queries.map((query) => [...metricsOf(query).keys()][0])).toEqual([
      'workflow_steps_total',
      ...Array<string>(3).fill('workflow_step_duration_seconds_bucket'),
      'workflows',
      'workflows_stuck',
      'workflow_wait_overdue_total',
    ]);
  });
});

describeWithPrometheus('alert rules, as promtool sees them', () => {
  test('MET-14 they are valid, and each fires on its case only', () => {
    expect(promtool('check', 'rules', file('alerts.rules.yml'))).toEqual({ ok: true, said: expect.stringContaining('3 rules found') }); // prettier-ignore
    expect(promtool('test', 'rules', file('alerts.test.yml'))).toEqual({ ok: true, said: expect.stringContaining('SUCCESS') }); // prettier-ignore
  });

  test("MET-19 the dashboard's queries are PromQL", () => {
    const rules = queries.map((query, at) => ({
      record: `query:${at}`,
      expr: query.replaceAll('$__rate_interval', '5m'),
    }));
    const { ok, said } = checkText(JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect({ ok, said }).toEqual({ ok: true, said: expect.stringContaining(`${rules.length} rules found`) });
  });
});

function checkText(rules: string): ReturnType<typeof promtool> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'workflows-rules-'));
  try {
    const written = path.join(folder, 'rules.yml');
    writeFileSync(written, rules);
    return promtool('check', 'rules', written);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
