import type { LapsedRow } from '../store/leases.js';
import { LapseJudge } from './lapse-judge.js';

type Server = Parameters<LapseJudge['judge']>[1];

const LEASE = 9_000;
const LOOK = 500;
const APART = 900;

const row = (id: string, more: Partial<LapsedRow> = {}): LapsedRow => ({
  id,
  workflow_id: `run of ${id}`,
  claim_no: 1,
  handler: 'Orders',
  member: false,
  job_attempt: 0,
  lease: '2026-01-01 00:00:00+00',
  ...more,
});

/** A judge that looks as a keeper does, at a server whose clock shows something else than ours. */
class Looks {
  readonly judge: LapseJudge;
  /** Our monotonic clock. */
  now = 1_000_000;
  /** What the server says of itself; its clock goes along with ours. */
  server: Server = { at: 1_700_000_000_000, pid: 71, started: '1700000000.5', timeline: '1' };

  constructor(lease = LEASE) {
    this.judge = new LapseJudge(lease, APART);
  }

  /** So much time passes, by both clocks or by each its own. */
  pass(ours: number, servers = ours): this {
    this.now += ours;
    this.server = { ...this.server, at: this.server.at + servers };
    return this;
  }

  /** One look, at which these rows were lapsed: whose workers are lost. */
  see(...rows: LapsedRow[]): string[] {
    return this.judge.judge(this.now, this.server, rows).map(({ id }) => id);
  }

  /** Looks at its pace for so long. Ids of rows that were ever judged. */
  seeFor(ms: number, ...rows: LapsedRow[]): string[] {
    const judged = new Set<string>();
    for (let gone = 0; gone < ms; gone += LOOK)
      this.pass(LOOK)
        .see(...rows)
        .forEach((id) => judged.add(id));
    return [...judged];
  }

  /** A judge that has looked for longer than it takes to be sure of itself. */
  static trusting(): Looks {
    const looks = new Looks();
    looks.seeFor(LEASE + LOOK);
    return looks;
  }
}

describe('LapseJudge', () => {
  test('SWEEP-19 a lapse counts after a full lease of looks, and not a look before', () => {
    const looks = new Looks();
    looks.see(row('1'));
    expect(looks.seeFor(LEASE - LOOK, row('1'))).toEqual([]);
    // Its looks are trusted from here on, and this one is the first of the two that see the row.
    expect(looks.pass(LOOK).see(row('1'))).toEqual([]);
    expect(looks.pass(LOOK).see(row('1'))).toEqual([]);
    expect(looks.pass(LOOK).see(row('1'))).toEqual(['1']);
  });

  test('SWEEP-02 AMB-55 a lapse is seen twice, an eighth of a lease apart, before it counts', () => {
    const looks = Looks.trusting();
    expect(looks.pass(LOOK).see(row('1'))).toEqual([]);
    expect(looks.pass(APART - 1).see(row('1'))).toEqual([]);
    expect(looks.pass(1).see(row('1'))).toEqual(['1']);
    // Told again at each look, for as long as it is found.
    expect(looks.pass(LOOK).see(row('1'), row('2'))).toEqual(['1']);
    expect(looks.pass(LOOK).see(row('2'))).toEqual([]);
    expect(looks.pass(LOOK).see(row('2'))).toEqual(['2']);
  });

  test.each([
    ['was renewed meanwhile', () => []],
    ['lapsed, was renewed and lapsed again', () => [row('1', { lease: '2026-01-01 00:00:09+00' })]],
    ['was claimed anew', () => [row('1', { claim_no: 2 })]],
  ])('SWEEP-02 a row that %s between the two looks begins anew', (_, meanwhile) => {
    const looks = Looks.trusting();
    looks.pass(LOOK).see(row('1'));
    expect(looks.pass(APART).see(...meanwhile())).toEqual([]);
    expect(looks.pass(LOOK).see(row('1'))).toEqual([]);
    expect(looks.pass(APART).see(row('1'))).toEqual(['1']);
  });

  /** What makes every lease look lapsed, though no worker is lost: what happened, between two looks. */
  const DISTRUST: [string, (looks: Looks) => void][] = [
    ['the server was restarted', (looks) => (looks.server = { ...looks.server, started: '1700009999.5' })],
    ['a failover: another timeline', (looks) => (looks.server = { ...looks.server, timeline: '2' })],
    [
      'a crash recovery: the start stays, our backend is another',
      (looks) => (looks.server = { ...looks.server, pid: 72 }),
    ],
    ["the server's clock was set forward", (looks) => looks.pass(0, LEASE / 3 + 1)],
    ["the server's clock was set back", (looks) => looks.pass(0, -LEASE / 3 - 1)],
    ['a look came late', (looks) => looks.pass(LEASE / 3 - LOOK + 1)],
    ['a minute without the database', (looks) => looks.pass(60_000)],
    ['this process stood still, and its clock with it', (looks) => looks.pass(0, 60_000)],
    ['the database stood still, and its clock with it', (looks) => looks.pass(LEASE / 3, 0)],
  ];

  test.each(DISTRUST)('SWEEP-19 after %s it trusts no lapse for another full lease', (_, happens) => {
    const looks = Looks.trusting();
    // Seen once already: that is forgotten too.
    expect(looks.pass(LOOK).see(row('1'))).toEqual([]);
    happens(looks);
    expect(looks.seeFor(LEASE, row('1'))).toEqual([]);
    expect(looks.seeFor(APART + 2 * LOOK, row('1'))).toEqual(['1']);
  });

  test('SWEEP-19 what is no trouble does not keep it from judging: looks up to a third of a lease apart, clocks within a third', () => {
    const looks = new Looks();
    looks.see();
    const third = LEASE / 3;
    for (let gone = 0; gone < LEASE; gone += third) expect(looks.pass(third).see(row('1'))).toEqual([]);
    looks.pass(0, third - 1);
    expect(looks.pass(APART).see(row('1'))).toEqual(['1']);
  });

  test('SWEEP-19 clocks that drift apart slowly are found out too', () => {
    const looks = Looks.trusting();
    // A tenth too fast: by a third of a lease after three and a third.
    let judged: string[] = [];
    for (let gone = 0; gone < 20 * LEASE; gone += LOOK) {
      judged = looks.pass(LOOK, LOOK * 1.1).see(row('1'));
      if (!judged.length && gone > 2 * LEASE) break;
    }
    expect(judged).toEqual([]);
  });

  test('SWEEP-19 with a short lease, a look may come half a second late on a busy machine', () => {
    const looks = new Looks(1_000);
    looks.see();
    expect(looks.pass(500).see(row('1'))).toEqual([]);
    expect(looks.pass(500).see(row('1'))).toEqual([]);
    expect(looks.pass(500).see(row('1'))).toEqual([]);
    expect(looks.pass(500).see(row('1'))).toEqual(['1']);
    expect(looks.pass(501).see(row('1'))).toEqual([]);
  });

  test('SWEEP-19 behind a transaction pooler each look is another backend, which says nothing', () => {
    const looks = new Looks();
    looks.server = { ...looks.server, pid: null };
    looks.see();
    expect(looks.seeFor(LEASE + APART + 2 * LOOK, row('1'))).toEqual(['1']);
  });

  test('SWEEP-19 one trouble after another: it waits after the last', () => {
    const looks = Looks.trusting();
    for (let pid = 80; pid < 90; pid += 1) {
      looks.server = { ...looks.server, pid };
      expect(looks.seeFor(LEASE - LOOK, row('1'))).toEqual([]);
    }
    expect(looks.seeFor(APART + 3 * LOOK, row('1'))).toEqual(['1']);
  });

  test('SWEEP-01 a look at one page of rows forgets nothing of the others', () => {
    const looks = Looks.trusting();
    const on = (after: string, upTo: string | null, ...rows: LapsedRow[]) =>
      looks.judge.judge(looks.pass(LOOK).now, looks.server, rows, { after, upTo }).map(({ id }) => id);
    expect(on('0', '5', row('5'))).toEqual([]);
    expect(on('5', null, row('6'))).toEqual([]);
    expect(on('0', '5', row('5'))).toEqual(['5']);
    expect(on('5', null, row('6'))).toEqual(['6']);
    // Gone from its page: seen again, it begins anew.
    expect(on('0', '5')).toEqual([]);
    expect(on('5', null, row('6'))).toEqual(['6']);
    expect(on('0', '5', row('5'))).toEqual([]);
  });
});
