import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TRANSITIONS_COMMAND, transitionsPage } from '../../../../test/support/transitions-page.js';

const PAGE = join(__dirname, '../../../../docs/transitions.md');

describe('docs/transitions.md', () => {
  test('OPS-34 the page says what the transition table says', () => {
    const written = readFileSync(PAGE, 'utf8');
    const rendered = transitionsPage();
    if (written !== rendered) {
      throw new Error(
        `docs/transitions.md is not what states.ts says (any more). Write it anew: ${TRANSITIONS_COMMAND}\n\n` +
          rendered
            .split('\n')
            .filter((line) => !written.includes(line))
            .map((line) => `missing: ${line}`)
            .join('\n'),
      );
    }
  });
});
