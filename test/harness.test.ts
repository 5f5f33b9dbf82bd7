import { Client } from 'pg';
import { createTestDatabase } from './support/database';
import { withClient } from './support/database-names';

async function query(url: string, statement: string): Promise<unknown[]> {
  const { rows } = await withClient(url, (client) => client.query<Record<string, unknown>>(statement));
  return rows;
}

describe('a fresh database a suite', () => {
  test('two databases have the migrations and nothing of one another', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    try {
      await query(one.url, 'create table mine (id int)');

      const found = `select to_regclass('mine') is not null as mine, to_regclass('migrations') is not null as migrated`;
      expect(await query(one.url, found)).toEqual([{ mine: true, migrated: true }]);
      expect(await query(other.url, found)).toEqual([{ mine: false, migrated: true }]);
    } finally {
      await Promise.all([one.drop(), other.drop()]);
    }
  });

  test('dropping one ends the connections to it', async () => {
    const database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    const ended = new Promise((resolve) => client.on('error', resolve));
    await client.connect();

    await database.drop();

    await expect(ended).resolves.toBeInstanceOf(Error);
  });
});
