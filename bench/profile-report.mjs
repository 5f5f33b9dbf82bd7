// @ts-check
import { alignedTable } from './report.mjs';

const LONGEST = 30;

/** @param {Awaited<ReturnType<typeof import('./profile.mjs').profile>>} result */
export function printProfile({ title, where, figures, wholeMs, busyMs, functions, modules }) {
  const share = (/** @type {number} */ ms) => `${((ms / busyMs) * 100).toFixed(1)} %`;
  const rate = figures.stepsPerSecond
    ? `, ${Math.round(figures.stepsPerSecond).toLocaleString('en')} steps/s under the profiler`
    : '';
  const lines = [
    `${title}${rate}`,
    `${(wholeMs / 1000).toFixed(1)} s, of which the thread was busy ${((busyMs / wholeMs) * 100).toFixed(0)} %; shares are of that.`,
    '',
    ...alignedTable(
      [['self', 'ms', 'module'], ...modules.map(({ ms, module }) => [share(ms), ms.toFixed(0), module])],
      ['module'],
    ),
    '',
    ...alignedTable(
      [
        ['self', 'ms', 'function', 'where'],
        ...functions
          .slice(0, LONGEST)
          .map(({ ms, name, place, module }) => [share(ms), ms.toFixed(0), name, place || module]),
      ],
      ['function', 'where'],
    ),
    '',
    `On: ${where}.`,
  ];
  console.log(`\n${lines.join('\n')}`);
}
