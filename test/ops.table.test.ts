import {
  InvalidTransitionError,
  NotPausedError,
  type RunStatus,
  type Verb,
  type WorkflowHandle,
} from 'nestjs-pg-workflows';
import { availableActions, isLegal, RUN_STATUSES, transition } from '../libs/workflow/src/model/states';
import { allRows, makeWait } from './support/rows';
import { held, Scripted, script } from './support/scripted';
import { workflowSuite } from './support/suite';

interface VerbCase {
  readonly id: string;
  readonly verb: Verb;
  /** The event it writes on the run, and what it makes of its status where it is legal. */
  readonly event: string;
  readonly leaves: Partial<Record<RunStatus, RunStatus>>;
  readonly call: (run: WorkflowHandle) => Promise<WorkflowHandle>;
}

const TOMORROW = new Date(Date.now() + 86_400_000);

/** Written from the list of behaviours, not from the table in the code: the two must agree. */
const VERBS: VerbCase[] = [
  {
    id: 'OPS-01',
    verb: 'pause',
    event: 'paused',
    leaves: { ready: 'paused', performing: 'paused', waiting: 'paused' },
    call: (run) => run.pause(),
  },
  { id: 'OPS-02', verb: 'resume', event: 'resumed', leaves: { paused: 'ready' }, call: (run) => run.resume() },
  {
    id: 'OPS-08',
    verb: 'resume_at',
    event: 'resumed',
    leaves: { paused: 'ready' },
    call: (run) => run.resumeAt('three'),
  },
  {
    id: 'OPS-09',
    verb: 'cancel',
    event: 'cancelled',
    leaves: { ready: 'cancelled', performing: 'cancelled', waiting: 'cancelled', paused: 'cancelled' },
    call: (run) => run.cancel(),
  },
  { id: 'OPS-10', verb: 'run_now', event: 'run_now', leaves: { ready: 'ready' }, call: (run) => run.runNow() },
  {
    id: 'OPS-11',
    verb: 'reschedule',
    event: 'rescheduled',
    leaves: { ready: 'ready' },
    call: (run) => run.reschedule(TOMORROW),
  },
  {
    id: 'OPS-12',
    verb: 'rerun',
    event: 'rerun',
    leaves: { finished: 'finished', cancelled: 'cancelled' },
    call: (run) => run.rerun(),
  },
];

const ACTIONS: Record<RunStatus, Verb[]> = {
  ready: ['pause', 'cancel', 'run_now', 'reschedule', 'signal'],
  performing: ['pause', 'cancel', 'signal'],
  waiting: ['pause', 'cancel', 'skip', 'signal'],
  paused: ['resume', 'resume_at', 'cancel', 'signal'],
  finished: ['rerun'],
  cancelled: ['rerun'],
};

describe('every verb in every status', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  /** Bodies at a gate, to be released when a test is over. */
  const releases: (() => void)[] = [];

  /** A real run in each status. Without a worker all but a performing and a finished one stay as they are. */
  async function runIn(status: RunStatus): Promise<WorkflowHandle> {
    if (status === 'performing' || status === 'finished') {
      const { workflows, close } = await suite.boot([Scripted]);
      const one = held();
      const run = await workflows.start(Scripted, script(status === 'performing' ? { one: one.body } : {}));
      if (status === 'finished') {
        await until(run, 'finished');
        await close();
        const idle = await suite.boot([Scripted], { worker: false });
        return idle.workflows.find(run.id);
      }
      await one.reached;
      releases.push(one.release);
      return run.reload();
    }
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const run = await workflows.start(Scripted, script({}));
    if (status === 'waiting') await makeWait(sql, run);
    if (status === 'paused') await run.pause();
    if (status === 'cancelled') await run.cancel();
    return run.reload();
  }

  /** Nothing is left for the worker of another test to take. */
  async function leaveNothing(): Promise<void> {
    const { workflows } = await suite.boot([Scripted], { worker: false });
    const left = await sql<{ id: string }>('select id from workflows where ended_at is null');
    for (const { id } of left) await (await workflows.find(id)).cancel();
    for (const release of releases.splice(0)) release();
  }

  const CELLS = VERBS.flatMap((verb) => RUN_STATUSES.map((status) => ({ ...verb, status })));
  const legal = CELLS.filter(({ leaves, status }) => leaves[status]);
  const illegal = CELLS.filter(({ leaves, status }) => !leaves[status]);

  test('OPS-15 OPS-34 the table in the code agrees with the list, cell by cell', () => {
    expect(legal.length + illegal.length).toBe(VERBS.length * RUN_STATUSES.length);
    for (const { verb, status, leaves } of CELLS) {
      expect({ verb, status, legal: isLegal(verb, status) }).toEqual({ verb, status, legal: status in leaves });
      expect(transition(verb).to).toEqual(expect.arrayContaining(leaves[status] ? [leaves[status]] : []));
      expect(availableActions(status).includes(verb)).toBe(status in leaves);
    }
  });

  test.each(legal)('$id OPS-34 $verb is legal when $status', async ({ verb, event, status, leaves, call }) => {
    const run = await runIn(status);
    expect(run.status).toBe(status);
    expect(run.availableActions).toEqual(ACTIONS[status]);
    expect(run.availableActions).toContain(verb);
    const before = await trail(run);

    const result = await call(run);
    const after = leaves[status]!;
    expect(run).toMatchObject({ status: after, availableActions: ACTIONS[after] });
    expect((await run.reload()).status).toBe(after);
    expect((await trail(run)).slice(before.length)[0]).toBe(event);
    expect(result === run).toBe(verb !== 'rerun');
    await leaveNothing();
  });

  test.each(RUN_STATUSES)(
    'OPS-15 OPS-34 a %s run refuses every verb it does not offer, and nothing changes',
    async (status) => {
      const run = await runIn(status);
      expect(run.status).toBe(status);
      expect(run.availableActions).toEqual(ACTIONS[status]);
      const refused = illegal.filter((cell) => cell.status === status);
      expect(refused.map(({ verb }) => verb).filter((verb) => run.availableActions.includes(verb))).toEqual([]);
      const before = await allRows(sql);

      for (const { verb, call } of refused) {
        const error = await call(run).then(
          () => `${verb} was not refused`,
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(InvalidTransitionError);
        const toResume = verb === 'resume' || verb === 'resume_at';
        expect(error instanceof NotPausedError).toBe(toResume);
        expect(error).toMatchObject({
          name: toResume ? 'NotPausedError' : 'InvalidTransitionError',
          code: toResume ? 'NOT_PAUSED' : 'INVALID_TRANSITION',
          verb,
          status,
          allowed: ACTIONS[status],
        });
        const { message } = error as Error;
        for (const word of [run.id, verb, status, ...ACTIONS[status]]) expect(message).toContain(word);
        expect(run).toMatchObject({ status, availableActions: ACTIONS[status] });
        expect({ verb, rows: await allRows(sql) }).toEqual({ verb, rows: before });
      }
      await leaveNothing();
    },
  );
});
