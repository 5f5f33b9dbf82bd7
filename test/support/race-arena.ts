import { PASSES_BY, readyTo, type Answers } from './race-acts';
import type { Conductor } from './race-conductor';
import { leftOf } from './race-left';
import type { Pair, Round, Turn } from './race-pairs';
import { stage, type Scene, type Staged } from './race-scenes';
import type { Side } from './race-sides';
import type { Suite } from './suite';

/** Runs in one race, at most: each act of each waits on a connection of its own. */
export const AT_ONCE = 24;

/** What each order of a pair leaves in each scene. */
type Serial = ReadonlyMap<Scene, ReadonlyMap<string, string>>;

/** What came of races. */
interface Raced {
  /** What neither order leaves, in words. */
  readonly odd: string[];
  /** How often it could be told which of the two came first. */
  readonly first: { here: number; there: number };
}

/** Where pairs of acts are played: in both orders, one after the other, and then at each other. */
export class Arena {
  constructor(
    private readonly sql: Suite['sql'],
    private readonly conductor: Conductor,
    private readonly sides: Readonly<Record<Turn, Side>>,
  ) {}

  /** Plays each order on fresh runs. */
  async inOrder(pair: Pair, scenes: readonly Scene[]): Promise<Serial> {
    const staged = await this.stageAll(new Map(scenes.map((scene) => [scene, pair.orders.length])));
    const serial = new Map(scenes.map((scene) => [scene, new Map<string, string>()]));
    for (const { name, turns } of pair.orders) {
      const runs = scenes.map((scene) => staged.get(scene)!.pop()!);
      const answers: { here?: Answers; there?: Answers } = {};
      for (const turn of turns) {
        const fire = await this.readyTo(pair, turn, runs);
        answers[turn === 'there' ? 'there' : 'here'] = await fire();
      }
      const outcomes = await this.outcomes(pair, runs, answers);
      for (const [at, outcome] of outcomes.entries()) serial.get(scenes[at])!.set(name, outcome);
    }
    return serial;
  }

  /** Plays these rounds, on a run each, and compares what they leave with what the orders do. */
  async race(pair: Pair, rounds: readonly Round[], serial: Serial): Promise<Raced> {
    const counts = new Map<Scene, number>();
    for (const { scene } of rounds) counts.set(scene, (counts.get(scene) ?? 0) + 1);
    const staged = await this.stageAll(counts);
    const raced: Raced = { odd: [], first: { here: 0, there: 0 } };
    for (const together of alike(rounds)) {
      const runs = together.map(({ scene }) => staged.get(scene)!.pop()!);
      const outcomes = await this.play(pair, together[0], runs);
      for (const [at, outcome] of outcomes.entries()) judge(pair, together[at], outcome, serial, raced);
    }
    return raced;
  }

  private async play(pair: Pair, { tempo, swapped }: Round, runs: readonly Staged[]): Promise<string[]> {
    const here = { fire: await this.readyTo(pair, 'here', runs), waits: !PASSES_BY.has(pair.here) };
    const there = { fire: await this.readyTo(pair, 'there', runs), waits: !PASSES_BY.has(pair.there) };
    const ids = runs.map(({ run }) => run.id);
    if (!swapped) {
      const [ours, theirs] = await this.conductor.play(tempo, ids, here, there);
      return this.outcomes(pair, runs, { here: ours, there: theirs });
    }
    const [theirs, ours] = await this.conductor.play(tempo, ids, there, here);
    return this.outcomes(pair, runs, { here: ours, there: theirs });
  }

  private readyTo(pair: Pair, turn: Turn, runs: readonly Staged[]): Promise<() => Promise<Answers>> {
    return readyTo(turn === 'there' ? pair.there : pair.here, this.sides[turn], runs, this.sql);
  }

  private async stageAll(counts: ReadonlyMap<Scene, number>): Promise<Map<Scene, Staged[]>> {
    const staged = new Map<Scene, Staged[]>();
    for (const [scene, count] of counts) staged.set(scene, await stage(scene, count, this.sides.here, this.sql));
    return staged;
  }

  private async outcomes(
    pair: Pair,
    runs: readonly Staged[],
    { here, there }: { here?: Answers; there?: Answers },
  ): Promise<string[]> {
    const ids = runs.map(({ run }) => run.id);
    const left = await leftOf(this.sql, ids);
    return left.map(
      (state, at) =>
        `${pair.here} here: ${here?.[at] ?? 'nothing'}; ${pair.there} there: ${there?.[at] ?? 'nothing'}; left: ${state}`,
    );
  }
}

/** Rounds of one tempo, let go in one order, as many at once as there is room for. */
function* alike(rounds: readonly Round[]): Generator<Round[]> {
  const groups = new Map<string, Round[]>();
  for (const round of rounds) {
    const key = `${round.tempo} ${round.swapped}`;
    groups.set(key, [...(groups.get(key) ?? []), round]);
  }
  for (const group of groups.values()) {
    for (let from = 0; from < group.length; from += AT_ONCE) yield group.slice(from, from + AT_ONCE);
  }
}

function judge(pair: Pair, { scene, tempo, swapped }: Round, outcome: string, serial: Serial, raced: Raced): void {
  const orders = [...serial.get(scene)!];
  const fitting = orders.filter(([, one]) => one === outcome).map(([name]) => name);
  if (fitting.length && fitting.every((name) => name.startsWith(`${pair.here} here`))) raced.first.here += 1;
  if (fitting.length && fitting.every((name) => name.startsWith(`${pair.there} there`))) raced.first.there += 1;
  if (fitting.length) return;
  const first = swapped ? `${pair.there} there` : `${pair.here} here`;
  raced.odd.push(
    `${pair.name} on a run that is ${scene.name}, ${tempo}, ${first} let go first: neither order leaves this\n` +
      [['it left', outcome], ...orders].map(([name, one]) => `  ${name}:\n    ${one}`).join('\n'),
  );
}
