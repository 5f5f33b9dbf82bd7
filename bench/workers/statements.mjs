// @ts-check
// Which statement of the package's is which, by words that only it has.

/** @type {readonly [kind: StatementKind, pattern: RegExp][]} */
const KINDS = [
  ['claim', /\bheld as materialized\b.*\blane\(queue, priority\)/s],
  ['lanes', /\bwith recursive lane\b/],
  ['lease look', /\bpg_postmaster_start_time\b/],
  ['lease renewal', /\brenewed as\b/],
  ['notify', /\bpg_notify\b/],
  ['listener check', /^select \$1$/],
  ['waits', /\btimeout_at\b|\bmember_index = |\bunjoined\b|status = 'waiting'/],
];

/** @typedef {'claim' | 'lanes' | 'waits' | 'lease look' | 'lease renewal' | 'notify' | 'listener check' | 'other'} StatementKind */

/**
 * Calls and the server's milliseconds, by kind.
 *
 * @param {readonly { text: string, calls: number, milliseconds: number }[]} statements
 */
export function byKind(statements) {
  /** @type {Record<StatementKind, { calls: number, milliseconds: number }>} */
  const kinds = {
    claim: { calls: 0, milliseconds: 0 },
    lanes: { calls: 0, milliseconds: 0 },
    waits: { calls: 0, milliseconds: 0 },
    'lease look': { calls: 0, milliseconds: 0 },
    'lease renewal': { calls: 0, milliseconds: 0 },
    notify: { calls: 0, milliseconds: 0 },
    'listener check': { calls: 0, milliseconds: 0 },
    other: { calls: 0, milliseconds: 0 },
  };
  for (const { text, calls, milliseconds } of statements) {
    const kind = kinds[KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'other'];
    kind.calls += calls;
    kind.milliseconds += milliseconds;
  }
  return kinds;
}
