import { InvalidTransitionError, LockTimeoutError, StepNotDefinedError } from '../errors.js';
import type { StuckGroup } from '../insights/attention.js';
import type { GroupResult } from '../insights/views.js';
import type { Connection } from '../store/connection.js';
import { authorOf, type Author, type By } from '../transition/by.js';
import { changeRun, type LockedRun, type Move } from '../transition/change-run.js';
import * as verbs from '../transition/verbs.js';
import type { ServiceParts } from './service.parts.js';

/** Who knows the groups of stuck runs: `AttentionReads`. */
export interface StuckGroups {
  idsOf(group: StuckGroup, limit: number): Promise<{ readonly ids: readonly string[]; readonly total: number }>;
  isIn(connection: Connection, id: string, group: StuckGroup): Promise<boolean>;
}

/** Runs that one press acts on, at most. */
const LARGEST_PRESS = 500;
/** A run that somebody holds is left for the next press after this long. */
const LOCK_WAIT_MS = 2_000;
/** A press takes no longer than this: what it has not come to by then is left. */
const PRESS_MS = 10_000;
/** Runs acted on at the same time: a press must leave connections to others. */
const AT_ONCE = 4;

type Fate = 'done' | 'moved_on' | 'refused' | 'left';

/**
 * Resumes or cancels a group of stuck runs: each by the same guarded verb as by hand, in a transaction of its own, with its own event.
 *
 * Whether a run still is in the group is asked under its lock, in a statement after the one that took it: between that and the verb nothing can
 * move it. A run that is paused again, on another error, is not the one that the person saw.
 *
 * @example
 * ```ts
 * const actions = new GroupActions(parts, new AttentionReads(parts));
 * await actions.resume(group, { actor: 'dashboard:alice', reason: 'SMTP is up again' }); // { ok: true, done: 212, moved_on: 2, … }
 * ```
 */
export class GroupActions {
  constructor(
    private readonly parts: Pick<ServiceParts, 'database' | 'registry' | 'settings'>,
    private readonly groups: StuckGroups,
  ) {}

  /**
   * Resumes at most 500 runs of the group, those that are stuck for longest first.
   *
   * @throws {WorkflowDefinitionError} when their class is not loaded here: what comes next is the class's to say
   * @throws {InvalidQueryError} for a group that cannot be
   */
  async resume(group: StuckGroup, by: By = {}): Promise<GroupResult> {
    const author = authorOf(by);
    const { ids, total } = await this.groups.idsOf(group, LARGEST_PRESS);
    if (ids.length === 0) return resultOf('Resumed', [], total);
    const definition = this.parts.registry.require(group.class);
    const settings = { defaultQueue: this.parts.settings.queue };
    return this.press('Resumed', group, ids, total, (locked) => {
      verbs.assertLegal('resume', locked.run);
      return verbs.resume(locked, author, definition, settings);
    });
  }

  /**
   * Cancels at most 500 runs of the group, those that are stuck for longest first.
   *
   * @throws {InvalidQueryError} for a group that cannot be
   */
  async cancel(group: StuckGroup, by: By = {}): Promise<GroupResult> {
    const author: Author = authorOf(by);
    const { ids, total } = await this.groups.idsOf(group, LARGEST_PRESS);
    return this.press('Cancelled', group, ids, total, (locked) => verbs.cancel(locked, author));
  }

  private async press(
    did: string,
    group: StuckGroup,
    ids: readonly string[],
    total: number,
    decide: (locked: LockedRun) => Move,
  ): Promise<GroupResult> {
    const waiting = [...ids];
    const fates: Fate[] = [];
    const begun = performance.now();
    const work = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        const isLate = performance.now() - begun > PRESS_MS;
        fates.push(isLate ? 'left' : await this.act(group, id, decide));
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } catch (error) {
      // The others stop at their next run: what was done is on the trail of each.
      waiting.length = 0;
      throw error;
    }
    return resultOf(did, fates, total - ids.length);
  }

  private async act(group: StuckGroup, id: string, decide: (locked: LockedRun) => Move): Promise<Fate> {
    try {
      const changed = await this.parts.database.transaction((transaction) =>
        changeRun(
          transaction,
          id,
          async (locked) => ((await this.groups.isIn(transaction.connection, id, group)) ? decide(locked) : null),
          { lockTimeout: LOCK_WAIT_MS },
        ),
      );
      return changed ? 'done' : 'moved_on';
    } catch (error) {
      if (error instanceof LockTimeoutError) return 'left';
      if (error instanceof InvalidTransitionError || error instanceof StepNotDefinedError) return 'refused';
      throw error;
    }
  }
}

function resultOf(did: string, fates: readonly Fate[], untouched: number): GroupResult {
  const count = (fate: Fate) => fates.filter((one) => one === fate).length;
  const [done, movedOn, refused, left] = [
    count('done'),
    count('moved_on'),
    count('refused'),
    count('left') + untouched,
  ];
  const reason = [
    `${did} ${done}`,
    movedOn && `${movedOn} had already moved on`,
    refused && `${refused} could not be ${did.toLowerCase()}`,
    left && `${left} are left: press again`,
    done + movedOn + refused + left === 0 && 'no run is in this group any more',
  ];
  return { ok: done > 0, done, moved_on: movedOn, refused, left, reason: `${reason.filter(Boolean).join('; ')}.` };
}
