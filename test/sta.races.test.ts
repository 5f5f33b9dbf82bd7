import {
  AlreadyRunningError,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowOf,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { workflowSuite } from './support/suite';

class Ticket {
  constructor(readonly id: string) {}
}

@SubjectLoader(Ticket)
class TicketLoader {
  load(id: string): Promise<Ticket> {
    return Promise.resolve(new Ticket(id));
  }
}

@Workflow({ subject: Ticket })
class Handling extends WorkflowOf<Ticket> {
  @Step()
  async handle() {}
}

const RACES = 200;
const ROUNDS = 6;

describe('concurrent starts from several processes', () => {
  const suite = workflowSuite();
  const boot = (options = {}) => suite.boot([Handling, TicketLoader], { worker: false, ...options });
  const settle = (start: Promise<WorkflowHandle>) => start.catch((error: unknown) => error);

  beforeEach(() => suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals'));

  test('STA-12 exactly one run a subject, and AlreadyRunningError with it for every other call', async () => {
    const apps = await Promise.all([boot(), boot()]);
    for (let race = 0; race < RACES; race += 1) {
      const subject = new Ticket(`slot-${race}`);
      const starts = [0, 1, 0, 1].map((app) => settle(apps[app].workflows.start(Handling, { subject })));
      // They come in twos, so that the second pair meets a first that has, or has not, committed.
      if (race % 2) await Promise.race(starts);
      const answers = await Promise.all(starts);
      const started = answers.filter((answer) => !(answer instanceof Error)) as WorkflowHandle[];
      expect(started).toHaveLength(1);
      for (const answer of answers.filter((one) => one instanceof Error)) {
        expect(answer).toBeInstanceOf(AlreadyRunningError);
        expect((answer as AlreadyRunningError).run.id).toBe(started[0].id);
      }
    }
    expect(
      await suite.sql('select count(*)::int as runs, count(distinct subject_id)::int as subjects from workflows'),
    ).toEqual([{ runs: RACES, subjects: RACES }]);
    expect(await suite.sql(`select count(*)::int as started from workflow_events where name = 'started'`)).toEqual([
      { started: RACES },
    ]);
  });

  test('STA-12 a worker that ends the run in the way lets another in, never two at once', async () => {
    const [one, other] = await Promise.all([boot(), boot({ worker: { pollInterval: 20 } })]);
    const subject = new Ticket('busy');
    const answers = await Promise.all(
      Array.from({ length: RACES }, (_, index) =>
        settle((index % 2 ? one : other).workflows.start(Handling, { subject })),
      ),
    );
    expect(answers.filter((answer) => answer instanceof Error && !(answer instanceof AlreadyRunningError))).toEqual([]);
    const started = answers.filter((answer) => !(answer instanceof Error)) as WorkflowHandle[];
    expect(started.length).toBeGreaterThanOrEqual(1);
    for (const run of started) await suite.until(run, 'finished');
    // Each began after the one before had ended.
    const overlaps = await suite.sql(`select a.id from workflows a join workflows b on b.id > a.id
      and b.created_at < a.ended_at and a.created_at < b.ended_at`);
    expect(overlaps).toEqual([]);
  });

  test('STA-21 one run a key, which every caller gets, and one started event', async () => {
    const apps = await Promise.all([boot(), boot()]);
    for (let race = 0; race < RACES; race += 1) {
      const options = { idempotencyKey: `key-${race}`, ...(race % 2 && { subject: new Ticket(`key-${race}`) }) };
      const runs = await Promise.all(
        [0, 1, 0, 1].map((app, index) => apps[app].workflows.start(Handling, { ...options, actor: `caller-${index}` })),
      );
      expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
      expect(runs.filter(({ duplicateStart }) => !duplicateStart)).toHaveLength(1);
    }
    expect(
      await suite.sql(
        `select (select count(*) from workflows)::int as runs, (select count(*) from workflow_steps)::int as steps,
                (select count(*) from workflow_events where name = 'started')::int as started`,
      ),
    ).toEqual([{ runs: RACES, steps: RACES, started: RACES }]);
  });

  test('STA-24 startMany of the same subjects in opposite order does not deadlock, statements apart too', async () => {
    const apps = await Promise.all([boot(), boot()]);
    // PostgreSQL ends a deadlock after a second; ours are not run again, so that one would show.
    const deadlocks = async () => {
      const [row] = await suite.sql(`select deadlocks::int from pg_stat_database where datname = current_database()`);
      return row.deadlocks as number;
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      // Names on which JavaScript's order and a collation's differ, and more than one statement holds.
      const subjects = Array.from(
        { length: 600 },
        (_, index) => new Ticket(`${index % 2 ? 'a' : 'B'}-${round}-${index}`),
      );
      const inputs = subjects.map((subject) => ({ subject }));
      const answers = await Promise.all(
        [inputs, inputs.toReversed()].map((list, index) =>
          apps[index].dataSource
            .transaction((manager) => apps[index].workflows.startMany(Handling, list, { manager }))
            .catch((error: unknown) => error),
        ),
      );
      expect(answers.filter((answer) => Array.isArray(answer))).toHaveLength(1);
      expect(answers.filter((answer) => answer instanceof AlreadyRunningError)).toHaveLength(1);
    }
    expect(await deadlocks()).toBe(0);
    expect(await suite.sql('select count(*)::int as runs from workflows')).toEqual([{ runs: ROUNDS * 600 }]);
  });
});
