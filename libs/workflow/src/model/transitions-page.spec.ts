import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TRANSITIONS_COMMAND, transitionsPage } from '../../../../test/support/transitions-page.js';

const PAGE = join(__dirname, '../../../../docs/transitions.md');

describe('docs/transitions.md', () => {
  test('OPS-34 the page says what the transition table says', () => {
    const written = readFileSync(PAGE, 'utf8');
    const missing = transitionsPage()
      .split('\n')
      .filter((line) => !written.includes(line));
    const same = written === transitionsPage();
    expect({ same, missing, otherwiseRun: TRANSITIONS_COMMAND }).toEqual({
      same: true,
      missing: [],
      otherwiseRun: TRANSITIONS_COMMAND,
    });
  });
});
