import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readPage } from './tutorial/page.mjs';
import { Ids, matches } from './tutorial/result.mjs';

describe('a page that is executed', () => {
  const fenced = (language: string, ...lines: string[]) => ['```' + language, ...lines, '```'].join('\n');

  test('is commands with what they print, and files, in order', () => {
    const steps = readPage(
      [
        'Words, and `code` in them.',
        fenced('ts', '// src/main.ts', 'run();'),
        '<!-- tutorial: first terminal -->',
        fenced('sh', 'npm start'),
        '<!-- tutorial: ask until -->\n',
        fenced('sh', 'cat a', 'cat b'),
        'It says:',
        fenced('text', 'A', 'B'),
        '<!-- tutorial: skip, it is there -->',
        fenced('sh', 'docker run'),
      ].join('\n'),
    );
    expect(steps).toEqual([
      { is: 'file', line: 2, name: 'src/main.ts', text: '// src/main.ts\nrun();\n', isThere: false },
      expect.objectContaining({ is: 'commands', line: 7, staysUp: true, asksUntil: false }),
      expect.objectContaining({ is: 'commands', line: 12, text: 'cat a\ncat b', asksUntil: true, result: 'A\nB' }),
    ]);
  });

  test('is refused where nobody would know what to do with a block or a remark', () => {
    expect(() => readPage(fenced('ts', 'run();'))).toThrow('line 1: the first line of a file says which');
    expect(() => readPage(fenced('text', 'printed by nobody'))).toThrow('line 1: a block of "text"');
    expect(() => readPage('<!-- tutorial: ask untill -->')).toThrow(
      'line 1: "ask untill" is none of first terminal, ask until,',
    );
  });

  test('the tutorial has no block that is left out but those about Docker', () => {
    const page = readFileSync(path.join(__dirname, '../docs/tutorial.md'), 'utf8');
    const skipped = [...page.matchAll(/<!-- tutorial: skip.*-->\n+```sh\n(.*)\n/g)].map(([, command]) => command);
    expect(skipped.map((command) => command?.split(' ').slice(0, 2).join(' '))).toEqual(['docker run', 'docker exec']);
    const blocks = page.match(/^```\w+$/gm)!.length;
    const steps = readPage(page);
    const results = steps.filter((step) => step.is === 'commands' && step.result !== undefined).length;
    expect(steps.length + results + skipped.length).toBe(blocks);
  });
});

describe('what is printed', () => {
  const one = '019b3c11-f2a4-7d30-8a57-c1d94be65f01';
  const other = '01a22c33-a620-74ea-9e2f-a43fbc535984';
  const third = '01a22c33-a697-7d5e-9c9f-cd0ddc0835ed';

  test('may have other times, durations, processes, widths and colours than the page', () => {
    const page = 'charge  1  completed  09:12 UTC (5s ago)  ran 1.5s, 9ms  laptop:4711  -';
    const same = 'charge 1 \u001b[32mcompleted\u001b[0m  2026-11-30 23:59 UTC (1m 3s ago)   ran 14ms, 2s vm:28614  -\n';
    expect(matches(page, same, new Ids())).toBe(true);
    expect(matches(page, same.replace('completed', 'failed'), new Ids())).toBe(false);
    expect(matches(page, same.replace('1', '2'), new Ids())).toBe(false);
    expect(matches(page, `${same}more`, new Ids())).toBe(false);
    expect(matches(page, '', new Ids())).toBe(false);
  });

  test('may have anything where the page has an ellipsis, and nothing else', () => {
    const page = 'a\n…\nb…\nc';
    expect(matches(page, 'a\nb\nc', new Ids())).toBe(true);
    expect(matches(page, 'a\nx\nb\nb, and more\nc', new Ids())).toBe(true);
    expect(matches(page, 'a\nx\nc', new Ids())).toBe(false);
    expect(matches(page, 'x\na\nb\nc', new Ids())).toBe(false);
  });

  test('has its own ids, each in the place of the same one of the page', () => {
    const ids = new Ids();
    expect(matches(`{"run":"${one}"}`, `{"run":"${third.slice(1)}"}`, ids)).toBe(false);
    expect(matches(`{"run":"${one}"}`, `{"run":"${other}"}`, ids)).toBe(true);
    expect(ids.translate(`show ${one}`)).toBe(`show ${other}`);
    expect(matches(`key wf:${one}:charge`, `key wf:${other}:charge`, ids)).toBe(true);
    expect(matches(`key wf:${one}:charge`, `key wf:${third}:charge`, ids)).toBe(false);
  });
});
