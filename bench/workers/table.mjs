// @ts-check

/** @typedef {{ where: string, size: { rounds: number, runs: number, idleWorkers: number, burst: number }, scale: import('./scale.mjs').Scale[] | null, idle: import('./idle.mjs').Idle | null, bursts: import('./burst.mjs').Burst[] | null }} WorkersResult */

/** @param {WorkersResult} result */
export function printWorkers({ where, size, scale, idle, bursts }) {
  const lines = [
    ...(scale ? [...scaleLines(scale, size), ''] : []),
    ...(idle ? [...idleLines(idle), ''] : []),
    ...(bursts ? [...bursts.flatMap(burstLines), ''] : []),
    `On: ${where}, fsync on.`,
  ];
  console.log(`\n${lines.join('\n')}`);
}

/**
 * @param {readonly import('./scale.mjs').Scale[]} scale
 * @param {WorkersResult['size']} size
 */
function scaleLines(scale, size) {
  const [first] = scale;
  const rows = scale.map((one) => [
    `${one.processes} worker process${one.processes > 1 ? 'es' : ''}`,
    whole(one.stepsPerSecond),
    `${(one.stepsPerSecond / first.stepsPerSecond).toFixed(2)} x`,
    one.commitsPerStep.toFixed(3),
    whole(one.walBytesPerStep),
    `${whole(one.emptyClaims)} of ${whole(one.claims)}`,
    whole(one.deadlocks),
    whole(one.nodeMicrosPerStep),
    whole(one.serverMicrosPerStep),
    `${Math.round(one.busiestShare * 100)} %`,
  ]);
  const head = ['', 'steps/s', 'to 1', 'commits/step', 'WAL bytes/step', 'empty claims', 'deadlocks', 'Node µs/step', 'server µs/step', 'busiest ran']; // prettier-ignore
  return [
    ...aligned([head, ...rows]),
    `(${whole(size.runs)} runs of five steps that do nothing, committed at once; medians of ${size.rounds} rounds in turn)`,
  ];
}

/** @param {import('./idle.mjs').Idle} idle */
function idleLines(idle) {
  const statements = Object.entries(idle.statementsPerSecond ?? {}).filter(([, calls]) => calls >= 0.01);
  const total = statements.reduce((sum, [, calls]) => sum + calls, 0);
  const connections = Object.entries(idle.byConnection).map(
    ([kind, one]) => `${kind} ${one.connections.toFixed(1)} with ${one.serverMillicores.toFixed(2)} ‰`,
  );
  const { latency, served, unserved } = idle;
  return [
    `${idle.workers} idle workers, for each of them:`,
    `  transactions/s ${idle.transactionsPerSecond.toFixed(1)}; statements/s ${statements.length ? total.toFixed(1) : '-'} (${statements.map(([kind, calls]) => `${kind} ${calls.toFixed(2)}`).join(', ')})`,
    `  of one core: server ${thousandths(idle.serverMillicores)}, Node ${thousandths(idle.nodeMillicores)}; ${whole(idle.rssMegabytes)} MB resident`,
    `  connections, and the server's time for them: ${connections.join(', ')}`,
    `a start until its body runs   p50 ${ms(latency.alone.p50)} beside one, ${ms(latency.among.p50)} beside ${idle.workers} (${(latency.among.p50 / latency.alone.p50).toFixed(2)} x); p95 ${ms(latency.alone.p95)}, ${ms(latency.among.p95)}`,
    `claims that a start causes    ${figure(latency.alone.claimsPerStart)} beside one, ${figure(latency.among.claimsPerStart)} beside ${idle.workers}`,
    ...[
      ['starts on a served queue', served],
      ['starts that nobody serves', unserved],
    ].map(
      ([name, one]) =>
        `${String(name).padEnd(29)} ${rates(/** @type {import('./idle.mjs').Idle['served']} */ (one), idle.workers)}`,
    ),
  ];
}

/**
 * @param {import('./idle.mjs').Idle['served']} rate
 * @param {number} workers
 */
function rates({ alone, among, ratio }, workers) {
  return (
    `${whole(alone.startsPerSecond)}/s beside one, ${whole(among.startsPerSecond)}/s beside ${workers} (${ratio.toFixed(2)} x); ` +
    `claims a start ${figure(alone.claimsPerStart)}, ${figure(among.claimsPerStart)}; server µs a start ${whole(alone.serverMicrosPerStart)}, ${whole(among.serverMicrosPerStart)}`
  );
}

/** @param {import('./burst.mjs').Burst} burst */
function burstLines({ how, runs, megabytes: mb, elsewhere, urgent, ...burst }) {
  const served = (
    /** @type {string} */ name,
    /** @type {import('./burst.mjs').Burst['urgent']} */ { idle, busy, ratio },
  ) =>
    `  ${name.padEnd(24)} p50 ${ms(busy.p50)}, p95 ${ms(busy.p95)} (idle ${ms(idle.p50)}, ${ms(idle.p95)}; p50 ${ratio.toFixed(2)} x; ${busy.probes} probes)`;
  return [
    `a burst of ${whole(runs)} by ${how}: ${whole(burst.startsPerSecond)} starts/s, ${whole(burst.runsPerSecond)} runs/s, ${whole(burst.leftWhenAllWereStarted)} left when all were started`,
    `  worker, MB               heap ${whole(mb.heapBefore)} before, ${whole(mb.heapMost)} at most, ${whole(mb.heapAfter)} after; resident ${whole(mb.rssBefore)} before, ${whole(mb.rssAfter)} after`,
    `  starter, MB              heap ${whole(mb.starterHeapBefore)} before, ${whole(mb.starterHeapAfter)} after; resident ${whole(mb.starterRssMost)} at most`,
    served('another queue', elsewhere),
    served('a higher priority', urgent),
  ];
}

/** @param {readonly string[][]} table */
function aligned(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  return table.map((cells) =>
    cells.map((cell, column) => (column ? cell.padStart(widths[column]) : cell.padEnd(widths[column]))).join('  '),
  );
}

/** @param {number | null} value */
const whole = (value) => (value === null ? '-' : Math.round(value).toLocaleString('en'));

/** @param {number | null} value */
const figure = (value) => (value === null ? '-' : value.toFixed(1));

/** @param {number | null} value */
const thousandths = (value) => (value === null ? '-' : `${value.toFixed(2)} ‰`);

/** @param {number} value */
const ms = (value) => `${value.toFixed(1)} ms`;
