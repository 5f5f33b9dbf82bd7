import { Abortable } from '../engine/abortable.js';
import { StepStalledError } from '../errors.js';
import { InHand, type Work } from './in-hand.js';
import { Ownership } from './ownership.js';

class MadeUp extends Abortable implements Work {
  readonly label: string;

  constructor(readonly row: Work['row']) {
    super();
    this.label = `step ${row.id}`;
  }
}

type List = readonly (readonly [id: string, claimNo: number])[];

describe('Ownership', () => {
  let now: number;
  let inHand: InHand;
  let ownership: Ownership;
  let takenUp: string[][];

  beforeEach(() => {
    now = 1_000;
    jest.spyOn(process.hrtime, 'bigint').mockImplementation(() => BigInt(now * 1_000_000));
    takenUp = [];
    inHand = new InHand(3_600_000);
    ownership = new Ownership(inHand, (ids) => void takenUp.push(ids));
  });

  afterEach(() => jest.restoreAllMocks());

  /** Comes into hand now. */
  const begin = (id: string, claimNo = 1): MadeUp => {
    const work = new MadeUp({ id, claimNo });
    inHand.add(work, null);
    return work;
  };

  /** A list that is asked for now and comes a while later. Ids of what is taken up over it. */
  const list = (...rows: List): string[] => {
    const sentAt = (now += 100);
    now += 10;
    ownership.compare(sentAt, rows);
    return takenUp.splice(0).flat();
  };

  describe('what is ours no more', () => {
    test('FLOW-18 a body whose row is missing from two lists running is asked to stop, and told why', () => {
      const work = begin('1');
      list();
      expect(work.abortSignal.aborted).toBe(false);
      list();
      expect(work.abortSignal.reason).toBeInstanceOf(StepStalledError);
      expect((work.abortSignal.reason as Error).message).toMatch(/^step 1 is no longer this worker's/);
    });

    test('FLOW-18 listed in between, it begins anew: a single list proves nothing', () => {
      const work = begin('1');
      for (let time = 0; time < 5; time += 1) {
        list();
        list(['1', 1]);
      }
      expect(work.abortedWith).toBeUndefined();
    });

    test('FLOW-18 under the number of another claim it is ours no more', () => {
      const [ours, others] = [begin('1', 3), begin('2', 3)];
      for (let time = 0; time < 2; time += 1) list(['1', 3], ['2', 4]);
      expect(ours.abortedWith).toBeUndefined();
      expect(others.abortedWith).toBeInstanceOf(StepStalledError);
    });

    test('FLOW-18 a list that was asked for before the row came into hand says nothing of it', () => {
      const sentAt = (now += 100);
      now += 5;
      const work = begin('1');
      for (let time = 0; time < 3; time += 1) ownership.compare(sentAt, []);
      expect(work.abortedWith).toBeUndefined();
    });

    test('FLOW-18 what was settled between two lists is no concern of theirs', () => {
      const work = begin('1');
      list();
      inHand.remove(work);
      // The next attempt of the same row, a member's second try, is another work.
      const next = begin('1', 2);
      list();
      expect([work.abortedWith, next.abortedWith]).toEqual([undefined, undefined]);
    });
  });

  describe('what is ours and was never begun', () => {
    test('SWEEP-20 a row that is not in hand is taken up when a second list has it', () => {
      expect(list(['1', 1])).toEqual([]);
      expect(list(['1', 1])).toEqual(['1']);
      // For as long as nobody begins it: there may have been no slot free.
      expect(list(['1', 1])).toEqual(['1']);
      begin('1');
      expect(list(['1', 1])).toEqual([]);
    });

    test('SWEEP-20 not over a list that was asked for before it was first met', () => {
      const sentAt = (now += 100);
      now += 10;
      ownership.compare(sentAt, [['1', 1]]);
      ownership.compare(sentAt, [['1', 1]]);
      ownership.compare(now, [['1', 1]]);
      expect(takenUp).toEqual([]);
      ownership.compare(now + 1, [['1', 1]]);
      expect(takenUp).toEqual([['1']]);
    });

    test('SWEEP-20 not while a claim, or a settlement that goes on in place, is under way that may have brought it', async () => {
      let answer!: () => void;
      const claim = inHand.claiming(() => new Promise<void>((resolve) => (answer = resolve)));
      for (let time = 0; time < 5; time += 1) expect(list(['1', 1])).toEqual([]);
      answer();
      await claim;
      expect(list(['1', 1])).toEqual(['1']);
    });

    test('SWEEP-20 a claim that began after it was met cannot have brought it', async () => {
      list(['1', 1]);
      now += 1;
      let answer!: () => void;
      const claim = inHand.claiming(() => new Promise<void>((resolve) => (answer = resolve)));
      expect(list(['1', 1])).toEqual(['1']);
      answer();
      await claim;
    });

    test('SWEEP-20 a row that came into hand and was settled since then begins anew', () => {
      list(['1', 1]);
      inHand.remove(begin('1'));
      expect(list(['1', 1])).toEqual([]);
      expect(list()).toEqual([]);
    });

    test('SWEEP-20 so does one that came into hand as a guarded row', () => {
      list(['1', 1]);
      inHand.addGuarded('1');
      expect(list(['1', 1])).toEqual([]);
      inHand.removeGuarded('1');
      expect(list(['1', 1])).toEqual([]);
      expect(list(['1', 1])).toEqual(['1']);
    });

    test('SWEEP-20 so does one that a list in between did not have, or that was claimed anew', () => {
      list(['1', 1], ['2', 1]);
      expect(list(['2', 2])).toEqual([]);
      expect(list(['1', 1], ['2', 2])).toEqual(['2']);
      expect(list(['1', 1], ['2', 2])).toEqual(['1', '2']);
    });

    test('SWEEP-20 a row whose body ran, and whose end could not be stored, is never taken for one that did not begin', () => {
      const work = begin('1');
      inHand.abandon(work);
      inHand.remove(work);
      for (let time = 0; time < 5; time += 1) expect(list(['1', 1])).toEqual([]);
    });
  });
});
