import { resumeLabel } from './resume-label.js';
import { describeRun, type DefinitionNow, type RowNow, type RunNow, type Surroundings } from './words.js';

const NOW = new Date('2026-01-31T14:00:00.000Z');
const at = (offset: number) => new Date(NOW.getTime() + offset);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** `capture` (waits for a signal), then `ship`; `old` is a gravestone between them. */
const definition: DefinitionNow = {
  step: (name) =>
    ({
      capture: { kind: 'step', onTimeout: 'pause' } as const,
      old: { kind: 'removed', onTimeout: 'pause' } as const,
      ship: { kind: 'step', onTimeout: 'notify' } as const,
    })[name],
  after: (name) => ({ capture: { name: 'ship' }, old: { name: 'ship' }, ship: null })[name] as never,
};

const ROW: RowNow = {
  attempt: 2,
  status: 'scheduled',
  scheduledAt: at(-3 * SECOND),
  startedAt: null,
  worker: null,
  errorClass: null,
  waitFor: null,
  waitingSince: null,
  timeoutAt: null,
  lateSince: null,
  timedOut: false,
  batch: null,
};

const words = (
  run: Partial<Omit<RunNow, 'row'>>,
  row: Partial<RowNow> | null = {},
  surroundings: Partial<Surroundings> = {},
) =>
  describeRun(
    {
      id: '0198',
      workflowClass: 'Orders',
      status: 'ready',
      step: 'capture',
      createdAt: at(-HOUR),
      pausedAt: null,
      endedAt: null,
      cancelledBy: null,
      ...run,
      row: row && { ...ROW, ...row },
    },
    { now: NOW, definition, stallThreshold: HOUR, ...surroundings },
  );

const WAITING = { status: 'waiting', waitFor: 'paid', waitingSince: at(-5 * MINUTE) } as const;
const PAUSED = { status: 'paused', pausedAt: at(-2 * HOUR) } as const;

describe('what a run does now and next, in words', () => {
  test.each<[string, ReturnType<typeof words>, string, string | null]>([
    ['due', words({}), 'Scheduled: step "capture", attempt 2, is due since 13:59 UTC (3s ago)', 'Then step "ship".'],
    [
      'scheduled',
      words({ step: 'ship' }, { scheduledAt: at(26 * HOUR) }),
      'Scheduled: step "ship", attempt 2, at 2026-02-01 16:00 UTC (in 1d 2h)',
      'Then the run is finished.',
    ],
    [
      'woken by its deadline',
      words({}, { timedOut: true }),
      'Scheduled: step "capture", attempt 2 (its wait timed out), is due since 13:59 UTC (3s ago)',
      'Then step "ship".',
    ],
    [
      'overdue',
      words({}, { scheduledAt: at(-2 * HOUR) }),
      'Overdue: step "capture", attempt 2, was due at 12:00 UTC (2h ago) and nobody took it.',
      'Then step "ship".',
    ],
    [
      'overdue, and the class is not loaded',
      words({}, { scheduledAt: at(-2 * HOUR) }, { definition: null }),
      'Overdue: step "capture", attempt 2, was due at 12:00 UTC (2h ago) and nobody took it. The class Orders is not loaded in this process; is it in any worker?',
      'What follows is known where the class Orders is loaded; it is not in this process.',
    ],
    [
      'on a step that is no longer declared',
      words({ step: 'gone' }),
      'Scheduled: step "gone", attempt 2, is due since 13:59 UTC (3s ago)',
      'The class no longer declares step "gone": the run will be paused, to be resumed at another step.',
    ],
    [
      'on a gravestone',
      words({ step: 'old' }),
      'Scheduled: step "old", attempt 2, is due since 13:59 UTC (3s ago)',
      'Step "old" was removed and is passed over. Then step "ship".',
    ],
    [
      'performing',
      words({ status: 'performing' }, { status: 'in_progress', startedAt: at(-1_500), worker: 'pod-1:7' }),
      'Performing step "capture", attempt 2, since 13:59 UTC (1.5s ago) on pod-1:7',
      'Then step "ship".',
    ],
    [
      'waiting until a deadline',
      words({ status: 'waiting' }, { ...WAITING, timeoutAt: at(2 * HOUR) }),
      'Waiting for signal "paid" at step "capture" since 13:55 UTC (5m ago), until 16:00 UTC (in 2h)',
      'With the signal step "capture" runs, then step "ship". At the deadline the run is paused.',
    ],
    [
      'waiting past its deadline',
      words({ status: 'waiting', step: 'ship' }, { ...WAITING, timeoutAt: at(-MINUTE) }),
      'Waiting for signal "paid" at step "ship" since 13:55 UTC (5m ago); its deadline passed at 13:59 UTC (1m ago) and is yet to be applied',
      'With the signal step "ship" runs, then the run is finished. At the deadline it is announced as late, and waits on.',
    ],
    [
      'waiting for ever',
      words({ status: 'waiting' }, WAITING, { definition: null }),
      'Waiting for signal "paid" at step "capture" since 13:55 UTC (5m ago), without a deadline',
      'What follows is known where the class Orders is loaded; it is not in this process.',
    ],
    [
      'DASH-03 late, announced, and not again',
      words({ status: 'waiting' }, { ...WAITING, lateSince: at(-2 * MINUTE) }),
      'Waiting for signal "paid" at step "capture" since 13:55 UTC (5m ago); late by 2m, since 13:58 UTC: that was announced, and will not be again',
      'With the signal step "capture" runs, then step "ship".',
    ],
    [
      'waiting for a batch',
      words({ status: 'waiting' }, { status: 'waiting', waitingSince: at(-5 * MINUTE), batch: { done: 3, total: 10 } }),
      'Waiting for batch "Orders#capture 0198" since 13:55 UTC (5m ago): 3 of 10 done',
      'Then step "ship".',
    ],
    [
      'paused on an error',
      words(PAUSED, { status: 'failed', errorClass: 'GatewayTimeout' }),
      'Paused since 12:00 UTC (2h ago) at step "capture", attempt 2: GatewayTimeout. You can resume (try step "capture" again), resume at another step, or cancel.',
      null,
    ],
    [
      'paused by its body',
      words({ ...PAUSED, step: 'ship' }, { status: 'completed' }),
      'Paused since 12:00 UTC (2h ago) after step "ship", attempt 2. You can resume (finish the run), resume at another step, or cancel.',
      null,
    ],
    [
      'paused, and the class is not loaded',
      words(PAUSED, { status: 'scheduled' }, { definition: null }),
      'Paused since 12:00 UTC (2h ago) before step "capture", attempt 2. You can resume (not from this process: the class is not loaded here), or cancel.',
      null,
    ],
    [
      'paused while a body is at work',
      words(PAUSED, { status: 'in_progress' }),
      'Paused since 12:00 UTC (2h ago) while step "capture", attempt 2, is at work. You can resume (let step "capture" go on), resume at another step, or cancel.',
      null,
    ],
    [
      'paused while it waits',
      words(PAUSED, WAITING),
      'Paused since 12:00 UTC (2h ago) while step "capture", attempt 2, waits for signal "paid". You can resume (go on waiting for signal "paid"), resume at another step, or cancel.',
      null,
    ],
    [
      'finished',
      words({ status: 'finished', step: 'ship', endedAt: at(-MINUTE) }, { status: 'completed' }),
      'Finished at 13:59 UTC (1m ago), 59m after its start, with step "ship"',
      null,
    ],
    [
      'cancelled by a person',
      words(
        {
          status: 'cancelled',
          endedAt: at(-MINUTE),
          cancelledBy: { actor: 'dashboard:alice', reason: 'bought elsewhere' },
        },
        { status: 'cancelled' },
      ),
      'Cancelled by dashboard:alice at 13:59 UTC (1m ago), 59m after its start, at step "capture": bought elsewhere',
      null,
    ],
    [
      'cancelled by a policy',
      words(
        { status: 'cancelled', endedAt: at(-MINUTE), cancelledBy: { actor: 'system', reason: null } },
        { status: 'failed', errorClass: 'CardDeclined' },
      ),
      'Cancelled by system at 13:59 UTC (1m ago), 59m after its start, at step "capture" on CardDeclined',
      null,
    ],
    [
      'without an attempt',
      words({ status: 'ready' }, null),
      'Ready at step "capture", which has no attempt: somebody edited rows by hand. The health check names such runs.',
      null,
    ],
    [
      'edited by hand',
      words({ status: 'performing' }, { status: 'completed' }),
      'Performing at step "capture", whose attempt is completed: somebody edited rows by hand. The health check names such runs.',
      null,
    ],
  ])('DASH-02 %s', (_, said, now, next) => expect(said).toEqual({ now, next }));
});

describe('what resume would do', () => {
  const label = (rowStatus: RowNow['status'], step = 'capture', waitFor: string | null = null) =>
    resumeLabel({ step, rowStatus, waitFor, definition });

  test('DASH-09 AMB-42 it tries the failed step again, or goes on with the next', () => {
    expect(label('failed')).toBe('Try step "capture" again');
    expect(label('failed', 'gone')).toContain('though the class does not declare it');
    expect(label('completed')).toBe('Go on with step "ship"');
    expect(label('skipped', 'ship')).toBe('Finish the run');
    expect(label('completed', 'gone')).toBe(
      'Not possible: the class does not declare step "gone"; resume at another step',
    );
    expect(label('scheduled')).toBe('Go on with step "capture"');
    expect(label('waiting', 'capture', 'paid')).toBe('Go on waiting for signal "paid"');
    expect(label('waiting')).toBe('Go on waiting for the batch');
    expect(label('in_progress')).toBe('Let step "capture" go on');
  });
});
