// @ts-check
import { className } from '../insights/workflows.mjs';

/**
 * @typedef {readonly [selector: string, least: number]} Many
 *
 * @typedef {object} Page
 * @property {string} name
 * @property {string} at beside the dashboard's address
 * @property {Many} shown what has to be there for whoever opens it
 * @property {Many} [whole] what is there when the page has all it will have, below the screen too; default: the same
 * @property {string | null} api what it asks for most of all, below the dashboard's address; null: nothing of its own
 * @property {boolean} [cold] opened for the first time: the browser has nothing of it
 */

const ROW = 'tr[data-row]';
/** A large screen has no more rows. */
const SCREEN = 25;
const PAGE = 50;

/**
 * @param {{ tried: string, fanned: string, cursor: string }} data
 * @returns {Page[]}
 */
export function pagesOf({ tried, fanned, cursor }) {
  const filter = `class=${className(3)}&state=finished`;
  const stuck = `class=${className(3)}&step=notify&error_class=Error1&stuck_reason=paused_error`;
  return [
    { name: 'a page that shows nothing', at: '#/nothing', shown: ['main h1', 1], api: null },
    {
      name: 'runs, first time ever',
      at: '#/runs',
      shown: [ROW, SCREEN],
      whole: [ROW, PAGE],
      api: 'api/runs?limit=50',
      cold: true,
    },
    { name: 'runs', at: '#/runs', shown: [ROW, SCREEN], whole: [ROW, PAGE], api: 'api/runs?limit=50' },
    {
      name: 'runs, all states',
      at: '#/runs?state=all',
      shown: [ROW, SCREEN],
      whole: [ROW, PAGE],
      api: 'api/runs?limit=50&state=all',
    },
    {
      name: 'runs, of a class',
      at: `#/runs?${filter}`,
      shown: [ROW, SCREEN],
      whole: [ROW, PAGE],
      api: `api/runs?limit=50&${filter}`,
    },
    {
      name: 'runs, its second page',
      at: `#/runs?${filter}&cursor=${cursor}`,
      shown: [ROW, SCREEN],
      whole: [ROW, PAGE],
      api: `api/runs?limit=50&${filter}&cursor=${cursor}`,
    },
    { name: 'runs, stuck on one error', at: `#/runs?${stuck}`, shown: [ROW, 1], api: `api/runs?limit=50&${stuck}` },
    {
      name: 'a run of 500 attempts',
      at: `#/runs/${tried}`,
      shown: [ROW, SCREEN],
      whole: [`${ROW}, .trail li`, 300],
      api: `api/runs/${tried}`,
    },
    {
      name: 'a fan-out of 10,000',
      at: `#/runs/${fanned}`,
      shown: ['[role=progressbar]', 1],
      api: `api/runs/${fanned}`,
    },
    {
      name: 'needs attention',
      at: '#/attention',
      shown: ['main tbody tr', SCREEN],
      whole: ['main tbody tr', 200],
      api: 'api/attention',
    },
    { name: 'classes', at: '#/definitions', shown: ['main tbody tr', 20], api: 'api/definitions' },
    {
      name: 'a class',
      at: `#/definitions/${className(3)}`,
      shown: ['main tbody tr', 5],
      whole: ['.recharts-bar-rectangle path', 1],
      api: `api/definitions/${className(3)}`,
    },
    { name: 'summary', at: '#/summary', shown: ['main tbody tr', 1], api: 'api/summary' },
  ];
}
