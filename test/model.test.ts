import { asyncProperty, check, type RunDetails } from 'fast-check';
import { brokenInvariants } from './support/invariants';
import { Model } from './support/model';
import { sequences, shown, type Command, type Sequence } from './support/model-commands';
import { Real } from './support/model-real';
import { Process } from './support/model-process';
import { providersOf, RELEASES, VARIANTS } from './support/model-workflows';
import { workflowSuite } from './support/suite';

/**
 * Sequences of whatever anybody may do to a run, on the package and on a model of docs/behaviour.md; after each command both must say the same of
 * every run. `MODEL_RUNS` sequences; `MODEL_SEED` and `MODEL_PATH` play one again, as a failure says.
 */
const RUNS = Number(process.env.MODEL_RUNS ?? 150);
/** Where nobody asked for a number, a busy machine plays fewer. */
const ENOUGH_MS = 40_000;
/** More than a run that can end needs to get there. */
const LONGEST_WAY = 60;

/** Sequences that once showed a mistake; they are played first. */
const FOUND: readonly Sequence[] = [
  {
    // The run ended in a set, in a process whose class waits for no signal any more, and left what a former step held claimed.
    variant: 0,
    from: 'gate',
    commands: [{ do: 'go_on' }, { do: 'go_on' }, { do: 'deploy', release: 2 }],
    drained: true,
  },
];

jest.setTimeout(60_000 + RUNS * 2_000);

describe('the package against a model of what its documentation says', () => {
  const suite = workflowSuite();
  const { sql } = suite;

  test(`OPS-15 OPS-33 OPS-34 DATA-08 SIG-09 FAN-18 SWEEP-09 AMB-21 whatever is done to a run, in whatever order, leaves what the documentation says (${RUNS} sequences)`, async () => {
    const boot = async (release: number) =>
      new Process(await suite.boot(providersOf(release), { worker: false, poolSize: 40 }));
    const processes = await Promise.all(RELEASES.map((_, release) => boot(release)));
    const { MODEL_SEED: seed, MODEL_PATH: path } = process.env;
    const property = asyncProperty(sequences, (sequence) => play(processes, sequence));
    const result = await check(property, {
      numRuns: RUNS,
      examples: FOUND.map((sequence): [Sequence] => [sequence]),
      ...(!process.env.MODEL_RUNS && { interruptAfterTimeLimit: ENOUGH_MS }),
      ...(seed && { seed: Number(seed) }),
      ...(path && { path, endOnFailure: true }),
    });
    if (result.failed) {
      const shortest = await shorten(result.counterexample![0], (sequence) => play(processes, sequence));
      throw new Error(report(result, shortest));
    }
    expect(result.numRuns).toBeGreaterThan(0);
  });

  async function play(processes: readonly Process[], { variant, from, commands, drained }: Sequence): Promise<void> {
    const model = new Model(VARIANTS[variant]);
    const real = new Real(processes, suite, variant);
    const step = async (command: Command, at: string) => {
      const plain = command.do === 'go_on' ? model.next() : command;
      const seen = await real.perform(plain);
      const expected = model.perform(plain, seen);
      const what = command === plain ? shown(command) : `${shown(command)}, which is ${shown(plain)}`;
      assertSame(`${at}: ${what}`, [seen, ...(await real.lines())], [expected, ...model.lines()]);
    };
    try {
      for (const command of beginning(from)) await step(command, 'at the beginning');
      for (const [index, command] of commands.entries()) await step(command, `${index + 1}`);
      for (let left = drained ? LONGEST_WAY : 0; left > 0 && !model.ended; left -= 1) {
        await step({ do: 'go_on' }, 'on the way to its end');
      }
      if (drained && !model.ended) throw new Difference('The run does not come to its end');
      for (let command = model.letGo(); command; command = model.letGo()) {
        await step(command, 'letting go what is at work');
      }
      await step({ do: 'join' }, 'at the end');
      const broken = await brokenInvariants({ query: sql });
      if (broken.length) throw new Difference(`Broken at the end:\n${broken.join('\n')}`);
    } finally {
      await real.letGo();
      await sql('delete from workflows');
      await sql('delete from workflow_events');
    }
  }
});

function beginning(from: Sequence['from']): Command[] {
  const start: Command = { do: 'start', key: null };
  return from === 'one' ? [start] : [start, { do: 'pause', run: 0 }, { do: 'resume_at', run: 0, step: from }];
}

/** Its message is all that there is to say. */
class Difference extends Error {}

function assertSame(at: string, real: readonly string[], model: readonly string[]): void {
  if (real.join('\n') === model.join('\n')) return;
  const lines = Array.from({ length: Math.max(real.length, model.length) }, (_, index) => {
    const [one, other] = [real[index], model[index]];
    return one === other ? `      ${one}` : `real  ${one ?? '-'}\nmodel ${other ?? '-'}`;
  });
  throw new Difference(`They differ after ${at}:\n${lines.join('\n')}`);
}

/** Leaves out one command after the other, as long as it fails without it. Answers with what is left, and its error. */
async function shorten(
  sequence: Sequence,
  playOnce: (sequence: Sequence) => Promise<void>,
): Promise<{ sequence: Sequence; error: unknown }> {
  let shortest = { sequence, error: await playOnce(sequence).catch((error: unknown) => error) };
  for (let at = sequence.commands.length - 1; at >= 0; at -= 1) {
    const without = { ...shortest.sequence, commands: shortest.sequence.commands.toSpliced(at, 1) };
    const error: unknown = await playOnce(without).catch((failure: unknown) => failure);
    if (error !== undefined) shortest = { sequence: without, error };
  }
  return shortest;
}

function report(
  { counterexamplePath, numRuns, seed }: RunDetails<[Sequence]>,
  { sequence, error }: { sequence: Sequence; error: unknown },
): string {
  const { variant, from, commands, drained } = sequence;
  return [
    `Sequence ${numRuns} failed; this is the shortest of its kind. Again: MODEL_SEED=${seed} MODEL_PATH=${counterexamplePath}`,
    `The class: ${JSON.stringify(VARIANTS[variant])}`,
    ...beginning(from).map((command) => `  ${shown(command)}`),
    ...commands.map((command, index) => `  ${index + 1}. ${shown(command)}`),
    ...(drained ? ['  then on to its end'] : []),
    error instanceof Difference ? error.message : error instanceof Error ? error.stack : String(error),
  ].join('\n');
}
