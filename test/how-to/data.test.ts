import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Step, Workflow, WorkflowHealthIndicator, WorkflowOf, defineSignal, type Ctx } from 'nestjs-pg-workflows';
import { WorkflowMigrations } from '../../migrations';
import { withClient } from '../support/database-names';
import { atWork, fanning, Task } from '../support/fan';
import { pageBlockNamed } from '../support/page-code';
import { workflowSuite, type Suite } from '../support/suite';

/** SQL of the page, by the name in its first line, with psql's variables filled in. */
function pageSql(name: string, variables: Record<string, string> = {}): string {
  const sql = pageBlockNamed('docs/how-to/data.md', 'sql', name);
  return sql.replace(/:'(\w+)'/g, (_, variable: string) => `'${variables[variable].replaceAll("'", "''")}'`);
}

const Told = defineSignal<{ from: string }>('told');

@Workflow({ name: 'LetterToAPerson' })
class Letter extends WorkflowOf<null, { to: string; breaks?: boolean }> {
  @Step()
  async send(ctx: Ctx<this>) {
    if (ctx.args.breaks) throw new Error('No such address: Grace@shop.example');
    ctx.output({ sentTo: 'dorothy@shop.example' });
  }

  @Step({ waitFor: Told })
  async answered() {}
}

/** How many rows each table has. */
async function rowsOf({ sql }: Suite) {
  const [rows] =
    await sql(`select (select count(*)::int from workflows) as runs, (select count(*)::int from workflow_steps) as steps,
    (select count(*)::int from workflow_events) as events, (select count(*)::int from workflow_signals) as signals`);
  return rows;
}

describe('the how-to page on data: deleting', () => {
  const suite = workflowSuite();

  test('a text is found wherever it is stored, and only in the runs that have it', async () => {
    const { workflows } = await suite.boot([Letter]);
    const ada = await workflows.start(Letter, { args: { to: 'Ada@shop.example' } });
    const grace = await workflows.start(Letter, { args: { to: '1', breaks: true } });
    const keyed = await workflows.start(Letter, { args: { to: '2' }, idempotencyKey: 'joan@shop.example' });
    await suite.until(grace, 'paused');
    for (const run of [ada, keyed]) await suite.until(run, 'waiting');
    await keyed.pause({ actor: 'olga@shop.example', reason: "O'Neil asked" });
    await grace.signal(Told, { from: 'mary_100%' });

    const found = async (text: string) =>
      (await suite.sql<{ id: string }>(pageSql('find runs', { text }))).map(({ id }) => id).toSorted();
    expect(await found('ada@SHOP.example')).toEqual([ada.id]);
    expect(await found('grace@shop.example')).toEqual([grace.id]);
    expect(await found('joan@shop.example')).toEqual([keyed.id]);
    expect(await found('olga@')).toEqual([keyed.id]);
    expect(await found("o'neil")).toEqual([keyed.id]);
    expect(await found('mary_100%')).toEqual([grace.id]);
    expect(await found('mary%')).toEqual([]);
    expect(await found('dorothy')).toEqual([ada.id, keyed.id].toSorted());

    await suite.sql(pageSql('delete runs', { ids: `{${ada.id},${grace.id},${keyed.id}}` }));
    expect(await rowsOf(suite)).toEqual({ runs: 0, steps: 0, events: 0, signals: 0 });
  });

  test('DATA-14 its SQL deletes a run whose fan-out is at work with all that belongs to it, and leaves the others', async () => {
    const Many = fanning('ManyOfAPerson', {}, false);
    const app = await suite.boot([Many, Task, Letter]);
    const kept = await app.workflows.start(Letter, { args: { to: '1' } });
    await suite.until(kept, 'waiting');
    const before = await rowsOf(suite);
    const { run, release } = await atWork(app, Many, 3);
    await run.signal(Told, { from: 'ada' });

    await suite.sql(pageSql('delete runs', { ids: `{${run.id}}` }));
    release(0, 1, 2);
    await app.close();

    expect(await rowsOf(suite)).toEqual(before);
    expect(app.reported).toEqual([]);
  });
});

describe('the how-to page on data: rights', () => {
  const suite = workflowSuite();
  const prefix = `shop_${randomBytes(6).toString('hex')}`;
  const [owner, processes] = [`${prefix}_owner`, `${prefix}_app`];
  const ours = (sql: string) => sql.replaceAll(/\bshop_(owner|app)\b/g, `${prefix}_$1`);
  const as = (role: string, password: string) => {
    const url = new URL(suite.database.url);
    [url.username, url.password] = [role, encodeURIComponent(password)];
    return url.href;
  };
  const asOwner = () => as(owner, 'a secret of the pipeline');
  const asProcesses = () => as(processes, 'a secret of the processes');

  // The suite's database is gone by then, and with it what they own.
  afterAll(() =>
    withClient(process.env.WORKFLOWS_TEST_DATABASE_URL!, (client) =>
      client.query(`drop role if exists ${owner}, ${processes}`),
    ),
  );

  test('DATA-01 SWEEP-14 after the uninstall one role migrates anew, and another, with rows alone, runs, listens and deletes', async () => {
    await suite.sql(pageSql('uninstall'));
    expect(await suite.sql('select name from migrations')).toEqual([]);
    await suite.sql('drop table migrations');

    await suite.sql(ours(pageSql('roles')));
    // The page says that the workflow tables need no sequence.
    const rights = pageSql('rights').split('\n').filter((line) => !line.includes('sequences')); // prettier-ignore
    await withClient(asOwner(), (client) => client.query(ours(rights.join('\n'))));
    const dataSource = new DataSource({ type: 'postgres', url: asOwner(), migrations: [...WorkflowMigrations] });
    await dataSource.initialize();
    try {
      expect(await dataSource.runMigrations()).toHaveLength(WorkflowMigrations.length);
    } finally {
      await dataSource.destroy();
    }

    const Many = fanning('ManyByRights', {}, true);
    const { workflows, app } = await suite.boot([Letter, Many, Task], {
      dataSource: { url: asProcesses() },
      retention: 1,
      sweepInterval: 50,
    });
    const run = await workflows.start(Letter, { args: { to: '1' } });
    await suite.until(run, 'waiting');
    const { run: fan, release } = await atWork({ workflows }, Many, 2);
    release(0, 1);
    await run.signal(Told, { from: 'ada' });
    await suite.eventually(async () => (await rowsOf(suite)).runs === 0, 'the sweep has deleted both when they ended');
    expect(await rowsOf(suite)).toEqual({ runs: 0, steps: 0, events: 0, signals: 0 });
    await expect(workflows.find(fan.id)).rejects.toThrow(fan.id);
    const { workflows: health } = await app.get(WorkflowHealthIndicator).isHealthy();
    expect(health).toMatchObject({ status: 'up', listener: 'listening' });

    await withClient(asProcesses(), async (client) => {
      for (const refused of ['drop table workflows', 'alter table workflows add more text', 'create table mine ()']) {
        await expect(client.query(refused)).rejects.toThrow(/must be owner|permission denied/);
      }
    });
  });

  test('for tables that are there already their owner grants the same', async () => {
    const revoke = `revoke all on all tables in schema public from ${processes}`;
    await withClient(asOwner(), (client) => client.query(revoke));
    const web = await suite.boot([Letter], { dataSource: { url: asProcesses() }, worker: false });
    await expect(web.workflows.start(Letter, { args: { to: '1' } })).rejects.toThrow(/permission denied/);
    await withClient(asOwner(), (client) => client.query(ours(pageSql('tables that are there'))));
    const { workflows } = await suite.boot([Letter], { dataSource: { url: asProcesses() } });
    const run = await workflows.start(Letter, { args: { to: '1' } });
    await suite.until(run, 'waiting');
    await run.signal(Told, { from: 'ada' });
    await suite.until(run, 'finished');
  });
});
