import {
  availableActions,
  EVENT_NAMES,
  isLegal,
  isOngoing,
  RUN_STATUSES,
  sourceOf,
  STEP_STATUSES,
  transition,
  TRANSITIONS,
  type EngineMove,
  type RunStatus,
  type Verb,
} from './states.js';

const VERBS: Verb[] = ['pause', 'resume', 'resume_at', 'cancel', 'run_now', 'reschedule', 'rerun', 'skip', 'signal'];
const MOVES: EngineMove[] = [
  'claim',
  'advance',
  'finish',
  'reattempt',
  'step_pause',
  'step_cancel',
  'unpause',
  'hold',
  'park',
  'wake',
  'resolve',
  'rewait',
];

describe('the transition table', () => {
  test.each<[RunStatus, Verb[]]>([
    ['ready', ['pause', 'cancel', 'run_now', 'reschedule', 'signal']],
    ['performing', ['pause', 'cancel', 'signal']],
    ['waiting', ['pause', 'cancel', 'skip', 'signal']],
    ['paused', ['resume', 'resume_at', 'cancel', 'signal']],
    ['finished', ['rerun']],
    ['cancelled', ['rerun']],
  ])('OPS-15 a %s run offers exactly its verbs, in their order', (status, verbs) => {
    expect(availableActions(status)).toEqual(verbs);
  });

  test('OPS-15 a verb is offered if and only if it is legal', () => {
    for (const status of RUN_STATUSES) {
      const legal = VERBS.filter((verb) => isLegal(verb, status));
      expect(availableActions(status).toSorted()).toEqual(legal.toSorted());
    }
  });

  test('OPS-33 no move of the worker is ever offered', () => {
    for (const status of RUN_STATUSES) {
      for (const move of MOVES) expect(availableActions(status)).not.toContain(move);
    }
    for (const move of MOVES) expect(transition(move).by).toBe('engine');
  });

  test('OPS-34 every verb and every move has one row, and there is nothing else', () => {
    expect(TRANSITIONS.map(({ name }) => name).toSorted()).toEqual([...VERBS, ...MOVES].toSorted());
    for (const { name, from, to, does } of TRANSITIONS) {
      expect({ name, from: from.length, to: to.length }).toEqual({
        name,
        from: new Set(from).size,
        to: new Set(to).size,
      });
      for (const status of [...from, ...to]) expect(RUN_STATUSES).toContain(status);
      expect(does).toMatch(/\.$/);
    }
  });

  test.each<[EngineMove, RunStatus[]]>([
    ['claim', ['ready']],
    ['advance', ['performing']],
    ['finish', ['performing', 'paused']],
    ['reattempt', ['performing']],
    ['step_pause', ['performing']],
    ['step_cancel', ['performing', 'paused']],
    ['unpause', ['paused']],
    ['hold', ['paused']],
    ['park', ['performing']],
    ['wake', ['waiting']],
    ['resolve', ['waiting']],
    ['rewait', ['paused']],
  ])('OPS-34 the move %s starts from %j only', (move, from) => {
    for (const status of RUN_STATUSES) expect(isLegal(move, status)).toBe(from.includes(status));
  });

  test('OPS-34 nothing but a rerun is possible once a run has ended, and that leaves it as it is', () => {
    const ending = TRANSITIONS.filter(({ from }) => from.some((status) => !isOngoing(status)));
    expect(ending).toEqual([expect.objectContaining({ name: 'rerun', from: ['finished', 'cancelled'] })]);
    expect(transition('rerun').to).toEqual(transition('rerun').from);
  });

  test('a move that starts from several statuses has no single source', () => {
    expect(sourceOf('claim')).toBe('ready');
    expect(() => sourceOf('finish')).toThrow('"finish" starts from 2 statuses');
  });

  test('DATA-06 the statuses of runs and of attempts are exactly these', () => {
    expect(RUN_STATUSES).toEqual(['ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled']);
    expect([...STEP_STATUSES].toSorted()).toEqual(
      ['scheduled', 'waiting', 'in_progress', 'completed', 'failed', 'cancelled', 'skipped'].toSorted(),
    );
  });

  test('DATA-08 the names of events are exactly these', () => {
    expect(EVENT_NAMES.join(', ')).toBe(
      'started, step_scheduled, step_started, step_completed, step_failed, step_skipped, step_reattempted, paused, resumed, ' +
        'cancelled, finished, run_now, rescheduled, rerun, stall_detected, late_completion_ignored, step_waiting, signal_received, ' +
        'signal_claimed, wait_timed_out, fan_out_opened, fan_out_finished',
    );
  });
});
