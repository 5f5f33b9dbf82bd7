import { startPostgres } from '../../scripts/postgres.mjs';

type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;

/**
 * A PostgreSQL of the test file's own, to be restarted as it likes. Called at the top of the file: the suites in its `describe`s then are on it,
 * and gone before it is. The file's environment is its own; other files keep the server of the test run.
 */
export function ownPostgres(settings: Record<string, string> = {}): {
  readonly url: string;
  readonly restart: PostgresServer['restart'];
} {
  let server: PostgresServer | undefined;

  beforeAll(async () => {
    server = await startPostgres({
      own: true,
      quiet: true,
      settings: { fsync: 'off', full_page_writes: 'off', ...settings },
    });
    process.env.WORKFLOWS_TEST_DATABASE_URL = server.url;
  });

  afterAll(() => server?.stop());

  return {
    get url() {
      return server!.url;
    },
    restart: (mode, downMs) => server!.restart(mode, downMs),
  };
}
