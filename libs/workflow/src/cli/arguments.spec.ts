import { cancel, signal } from './act.command.js';
import { actorOf } from './actor.js';
import { parse } from './arguments.js';
import { UsageError } from './exit.js';
import { columnsThatFit, list } from './list.command.js';
import { oneLine, Output, table } from './output.js';
import { payloadOf } from './signal-payload.js';

const given = (...argv: string[]) => {
  const parsed = parse(argv);
  if (parsed.kind !== 'command') throw new Error(`${argv.join(' ')} asks for the ${parsed.kind}`);
  return parsed.given;
};

describe('the command line', () => {
  test.each([
    [['sho', 'x'], /There is no command "sho"\. There are: check, list, show, resume, cancel, signal/],
    [['--json', 'list'], /The command comes first, before --json/],
    [['show', 'x', '--colour'], /'--colour'\. Options of "show": --payloads, /],
    [['show'], /"show" needs the run's id: show <run>/],
    [['signal', 'x'], /"signal" needs the signal's name: signal <run> <name>/],
    [['resume', 'x', 'y'], /"y" is one too many for "resume"/],
    [['cancel', 'x', '--reason', 'a', '--reason', 'b'], /--reason is given twice/],
    [['list', '--limit'], /--limit/],
  ])('CLI-06 %j is refused in words', (argv, words) => {
    expect(() => parse(argv)).toThrow(UsageError);
    expect(() => parse(argv)).toThrow(words);
  });

  test('CLI-06 what an option may be is said before anything is opened', async () => {
    for (const limit of ['0', '10001', 'x', '1.5', '-1']) {
      expect(() => list(given('list', `--limit=${limit}`))).toThrow(
        /--limit is .*; allowed: a whole number from 1 to 10000/,
      );
    }
    expect(() => list(given('list', '--created-from', 'yesterday'))).toThrow(/"created_from" has to be a moment/);
    expect(() => cancel(given('cancel', 'x', '--expected-status', 'stopped'))).toThrow(/allowed: ready, performing/);
    expect(() => cancel(given('cancel', 'x', '--reason', 'r'.repeat(1_001)))).toThrow(/1001 characters; at most 1000/);
    for (const [args, words] of [
      [['--payload', '[1]'], /has to be a JSON object/],
      [['--payload', 'null'], /has to be a JSON object/],
      [['--payload', '{by: 1}'], /is no JSON: .*single quotes/],
      [['--payload', '{}', '--payload-file', '-'], /both given/],
      [
        ['--payload', '{"a":[9007199254740993]}'],
        /9007199254740993, which JavaScript would round\. Send it as a string/,
      ],
      [['--payload', '{"a":1e400}'], /the number 1e400/],
      [['--idempotency-key', ''], /--idempotency-key is empty/],
    ] as const) {
      await expect(signal(given('signal', 'x', 'go', ...args))).rejects.toThrow(words);
    }
    const fine = String.raw`{"a": -9007199254740991, "b": 1.5e3, "c": "say \"9007199254740993\""}`;
    expect(await payloadOf(new Map([['payload', `\uFEFF${fine}`]]))).toEqual(JSON.parse(fine));
  });

  test('CLI-06 help and version may be asked for anywhere', () => {
    expect(parse([])).toEqual({ kind: 'help', command: null });
    expect(parse(['help', 'list'])).toMatchObject({ kind: 'help', command: { name: 'list' } });
    expect(parse(['signal', '--help'])).toMatchObject({ kind: 'help', command: { name: 'signal' } });
    expect(parse(['--version'])).toEqual({ kind: 'version' });
  });

  test('CLI-03 an actor fits its column, and has nothing in it that a terminal would obey', () => {
    expect(actorOf('  olga ')).toBe('cli:olga');
    expect(actorOf('a\u001b[31m\0b')).toBe('cli:a\uFFFD[31m\uFFFDb');
    expect(actorOf(' ')).toBe('cli');
    expect(actorOf('😀'.repeat(300)).length).toBeLessThanOrEqual(4 + 500);
    expect(Array.from(actorOf('x'.repeat(300)))).toHaveLength(254);
  });

  test('CLI-13 cells are aligned, on one line, without control characters, and the last is cut to the width', () => {
    expect(oneLine('a\r\n  b\tc\u001b]0;x\u0007 \u202Ed')).toBe('a b c\\u001b]0;x\\u0007 \\u202ed');
    const rows = [
      ['one', 'two\nthree'],
      ['1', '2'],
    ];
    expect(table(['A', 'LONG'], rows, 8)).toEqual(['A    LO…', 'one  tw…', '1    2']);
  });

  test('CLI-13 a narrow terminal is spared the columns that NOW tells of', () => {
    const heads = ['ID', 'CLASS', 'SUBJECT', 'STATUS', 'STUCK', 'CREATED', 'NOW'];
    const row = [
      'i'.repeat(36),
      'Errand',
      'Parcel 1',
      'paused',
      'paused_error',
      '09:30 UTC (5 min ago)',
      'Paused since',
    ];
    const shown = (width?: number) => columnsThatFit([heads, row], width)[0];
    expect(shown(undefined)).toEqual(heads);
    expect(shown(150)).toEqual(heads);
    expect(shown(110)).toEqual(['ID', 'CLASS', 'SUBJECT', 'STATUS', 'STUCK', 'NOW']);
    expect(shown(80)).toEqual(['ID', 'CLASS', 'STATUS', 'NOW']);
    expect(columnsThatFit([heads, row], 80)[1]).toEqual([row[0], 'Errand', 'paused', 'Paused since']);
  });

  test('CLI-13 a terminal that does not know its width has nothing cut', () => {
    const { isTTY, columns } = process.stdout;
    const out = Object.create(Output.prototype) as Output;
    try {
      Object.assign(process.stdout, { isTTY: true, columns: 0 });
      expect(out.columns).toBeUndefined();
      Object.assign(process.stdout, { columns: 80 });
      expect(out.columns).toBe(80);
    } finally {
      Object.assign(process.stdout, { isTTY, columns });
    }
  });
});
