// @ts-check
// Workers are killed and connections cut, each at every point where that may matter: npm run test:chaos. See kill/README.md.

import { parseArgs } from 'node:util';
import { startPostgres } from '../../scripts/postgres.mjs';
import { newDatabases } from './kill/databases.mjs';
import { playMatrix } from './kill/matrix.mjs';
import { POINTS, STALL_ACTIONS } from './kill/points.mjs';
import { cellsOf, tableOf } from './kill/report.mjs';

const HELP = `Usage: npm run test:chaos [-- options]

The kill matrix. At every point of a step's life a worker process is killed (SIGKILL) or frozen, or its connection is cut: before
the database got a statement, or after it committed and before it answered. That under each stallAction, so many rounds each. After
a round the run must have ended, or be paused for a named reason and finish when it is resumed; the invariants must hold; and a
ledger outside must show each completed step's effect: at least once, exactly once where it is keyed or transactional, never again
after its completion. Exit code 0 only when all of it holds.

  --rounds <n>     of each point and action (20)
  --only <text>    points whose name contains it; may be given several times (all)
  --action <name>  pause, reattempt or cancel; may be given several times (all)
  --lanes <n>      rounds at once, each lane with a database and worker processes of its own (5)
  --json           prints the result as JSON
  --list           prints the points
  --help

DATABASE_URL names a server of yours, on which databases are created and dropped again; without it one is started.
`;

/** Rounds that a lane plays in a row. */
const ROUNDS_A_JOB = 5;

const say = (/** @type {string} */ line) => console.error(line);

// An exit also ends what was started, which a signal's default would not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));

const given = readOptions();
process.exitCode = await main(given);

/** The options of this process. Ends it when there is nothing to play, and for what cannot be right. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: 'string', default: '20' },
        only: { type: 'string', multiple: true, default: [] },
        action: { type: 'string', multiple: true, default: [] },
        lanes: { type: 'string', default: '5' },
        json: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit(0);
    }
    if (values.list) {
      for (const { name, does, workflow } of POINTS) console.log(`${name.padEnd(48)} ${does}, ${workflow}`);
      process.exit(0);
    }
    const { only, action, json } = values;
    const points = POINTS.filter(({ name }) => only.length === 0 || only.some((text) => name.includes(text)));
    if (!points.length) throw new Error(`No point is called ${only.join(' or ')}; see --list.`);
    const unknown = action.filter((name) => !STALL_ACTIONS.some((known) => known === name));
    if (unknown.length) throw new Error(`--action is ${unknown.join(', ')}; allowed: ${STALL_ACTIONS.join(', ')}.`);
    const actions = STALL_ACTIONS.filter((name) => action.length === 0 || action.includes(name));
    return { points, actions, rounds: countOf('rounds', values.rounds), lanes: countOf('lanes', values.lanes), json };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return process.exit(2);
  }
}

/**
 * @param {string} option
 * @param {string} text
 */
function countOf(option, text) {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new Error(`--${option} is ${text}; allowed: a whole number of at least 1.`);
}

/**
 * @param {ReturnType<typeof readOptions>} options
 * @returns {Promise<number>} the exit code
 */
async function main({ points, actions, rounds, lanes, json }) {
  const jobs = actions.flatMap((action) =>
    points.flatMap((point) => jobsOf(rounds).map((job) => ({ point, action, ...job }))),
  );

  const server = await startPostgres();
  const databases = await newDatabases(server.url);
  const begun = performance.now();
  const total = rounds * points.length * actions.length;
  /** @type {import('./kill/lane.mjs').Round[]} */
  const played = [];
  try {
    await playMatrix({
      jobs,
      lanes,
      newPlace: () => databases.newPlace(),
      played(round) {
        played.push(round);
        for (const problem of round.problems)
          say(`! ${round.point}, ${round.action}, ${round.recoveredBy}: ${problem}`);
        if (played.length % 20 === 0 || played.length === total) {
          const minutes = (performance.now() - begun) / 60_000;
          const left = (minutes / played.length) * (total - played.length);
          say(`${played.length} of ${total} rounds, ${minutes.toFixed(1)} min, about ${left.toFixed(1)} to go`);
        }
      },
    });
  } finally {
    await databases.drop();
    await server.stop();
  }
  const place = (/** @type {typeof played[number]} */ { point, action }) =>
    points.findIndex(({ name }) => name === point) * actions.length + actions.indexOf(action);
  const cells = cellsOf(played.toSorted((a, b) => place(a) - place(b)));
  const minutes = (performance.now() - begun) / 60_000;
  const broken = played.filter(({ problems }) => problems.length > 0);
  if (json) console.log(JSON.stringify({ rounds: played.length, minutes, broken, cells }, null, 2));
  else {
    console.log(`\n${tableOf(cells)}\n`);
    console.log(
      `${played.length} rounds in ${minutes.toFixed(1)} minutes, ${broken.length} of them not as they should be.`,
    );
  }
  return broken.length ? 1 : 0;
}

/** @param {number} rounds */
function jobsOf(rounds) {
  const jobs = [];
  for (let from = 0; from < rounds; from += ROUNDS_A_JOB) {
    jobs.push({ from, rounds: Math.min(ROUNDS_A_JOB, rounds - from) });
  }
  return jobs;
}
