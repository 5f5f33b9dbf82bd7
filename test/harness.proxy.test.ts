import { Client } from 'pg';
import { MessageReader, rowsIn, stateOf, statementOf } from './support/pg-messages.mjs';
import { PostgresProxy } from './support/pg-proxy.mjs';
import { createTestDatabase, type TestDatabase } from './support/database';
import { gate } from './support/suite';

/** A message as it is sent: letter, length, body. */
function message(type: string, ...body: (string | Buffer)[]): Buffer {
  const bytes = Buffer.concat(body.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)));
  const head = Buffer.from(`${type}0000`);
  head.writeInt32BE(bytes.length + 4, type.length);
  return Buffer.concat([head, bytes]);
}

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const dataRow = (first: string | null) =>
  message(
    'D',
    Buffer.from([0, 1]),
    first === null ? int32(-1) : Buffer.concat([int32(first.length), Buffer.from(first)]),
  );

describe('the reader of the protocol', () => {
  const start = message('', int32(196608), 'user', 'me', '');
  const ssl = message('', int32(80877103));
  const stream = Buffer.concat([ssl, start, message('Q', 'begin'), message('S')]);

  test('finds the same messages however the network cuts the stream', () => {
    for (let size = 1; size <= stream.length; size += 1) {
      const reader = new MessageReader('client');
      const found: string[] = [];
      for (let at = 0; at < stream.length; at += size) {
        for (const { type, bytes } of reader.push(stream.subarray(at, at + size))) found.push(`${type}${bytes.length}`);
      }
      expect(found).toEqual([`${ssl.length}`, `${start.length}`, 'Q11', 'S5']);
    }
  });

  test('knows a statement by its name, else by its text', () => {
    const read = (...messages: Buffer[]) => {
      const reader = new MessageReader('server');
      return reader.push(Buffer.concat(messages));
    };
    expect(statementOf(read(message('P', 'wf_claim', 'select 1'), message('B', '', 'wf_claim'), message('S')))).toBe(
      'wf_claim',
    );
    expect(statementOf(read(message('B', 'porté', 'wf_settle', Buffer.from([0, 0])), message('E'), message('S')))).toBe(
      'wf_settle',
    );
    expect(statementOf(read(message('P', '', ' COMMIT '), message('B', '', ''), message('S')))).toBe('commit');
    expect(statementOf(read(message('Q', 'COMMIT')))).toBe('commit');
    expect(statementOf(read(message('S')))).toBe('');
    expect(rowsIn(read(dataRow(null), dataRow('7'), message('D', Buffer.from([0, 0])), message('C', 'SELECT 3')))).toBe(
      1,
    );
    expect(stateOf(read(message('Z', Buffer.from('T')))[0])).toBe('T');
  });
});

describe('the proxy', () => {
  let database: TestDatabase;
  let proxy: PostgresProxy;
  const clients: Client[] = [];
  const connected = async (url = proxy.url) => {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  };
  const insert = (client: Client, n: number) =>
    client.query({ name: 'insert_row', text: 'insert into t values ($1) returning n', values: [n] });
  const stored = async () => {
    const { rows } = await (await connected(database.url)).query<{ n: number }>('select n from t order by n');
    return rows.map(({ n }) => n);
  };

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  beforeEach(async () => {
    proxy = await new PostgresProxy(database.url).open();
    await (await connected(database.url)).query('drop table if exists t; create table t (n int)');
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end().catch(() => undefined)));
    await proxy.close();
  });
  afterAll(() => database?.drop());

  test('passes on whatever is said, with answers of many packets and notifications', async () => {
    const client = await connected();
    const heard = gate<string | undefined>();
    client.on('notification', ({ payload }) => heard.open(payload));
    await client.query('listen news');
    await (await connected()).query(`select pg_notify('news', 'yes')`);
    expect(await heard.opened).toBe('yes');
    const { rows } = await client.query(`select repeat('x', 1000) as x from generate_series(1, 2000)`);
    expect(rows).toHaveLength(2000);
    expect(rows[1999]).toEqual({ x: 'x'.repeat(1000) });
    await expect(client.query('select 1/0')).rejects.toThrow('division by zero');
    await insert(client, 1);
    expect(await stored()).toEqual([1]);
  });

  test('a cut at a request comes before the server got it', async () => {
    const client = await connected();
    const cut = proxy.once({ statement: 'insert_row', on: 'request', nth: 2 }, (link) => link.cut());
    await insert(client, 1);
    await expect(insert(client, 2)).rejects.toThrow('terminated');
    await cut.happened;
    expect(await stored()).toEqual([1]);
  });

  test('a cut at an answer comes after the server did it and before the client knows', async () => {
    const client = await connected();
    const cut = proxy.once({ statement: 'insert_row', on: 'answer', withRows: true }, (link) => link.cut());
    await expect(insert(client, 1)).rejects.toThrow('terminated');
    await cut.happened;
    expect(await stored()).toEqual([1]);
  });

  test('a commit is told from others by what stood before it in its transaction', async () => {
    const client = await connected();
    const cut = proxy.once({ statement: 'commit', on: 'answer', after: 'insert_row' }, (link) => link.cut());
    await client.query('begin');
    await client.query('COMMIT');
    await insert(client, 1);
    await client.query('begin');
    await client.query('COMMIT');
    await client.query('begin');
    await insert(client, 2);
    await expect(client.query('COMMIT')).rejects.toThrow('terminated');
    await cut.happened;
    expect(await stored()).toEqual([1, 2]);
  });

  test('a moment with rows passes over answers without', async () => {
    const client = await connected();
    const look = (n: number) =>
      client.query({ name: 'look', text: 'select (select n from t where n = $1) as n', values: [n] });
    const cut = proxy.once({ statement: 'look', on: 'answer', withRows: true }, (link) => link.cut());
    await insert(client, 1);
    expect((await look(2)).rows).toEqual([{ n: null }]);
    await expect(look(1)).rejects.toThrow('terminated');
    await cut.happened;
  });

  test('what is held waits for its release, and nothing else does', async () => {
    const release = proxy.hold('insert_row');
    const client = await connected();
    const inserted = insert(client, 1);
    await (await connected()).query('insert into t values (2)');
    expect(await stored()).toEqual([2]);
    release();
    await inserted;
    await insert(client, 3);
    expect(await stored()).toEqual([1, 2, 3]);
  });

  test('knows its connections to the server, and ends them all', async () => {
    const client = await connected();
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const found = await (
      await connected(database.url)
    ).query('select pid from pg_stat_activity where client_port = any($1)', [[...proxy.serverPorts]]);
    expect(found.rows).toEqual(rows);
    proxy.cutAll();
    await expect(client.query('select 1')).rejects.toThrow('terminated');
  });
});
