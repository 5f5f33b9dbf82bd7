// @ts-check
// A page that is executed: what its reader types, edits and sees, in order.
//
//   ```sh      commands, typed into one terminal. The `text` block that comes next, if one does, is what they print
//   ```ts      a file, named by its first line: `// src/main.ts`
//
// A comment before a block says what a reader does or sees without being told:
//
//   <!-- tutorial: first terminal --> this command stays up, in a terminal of its own
//   <!-- tutorial: ask until -->      these commands only look: again, until they print what stands below
//   <!-- tutorial: is there -->       the reader does not write this file: a command above has
//   <!-- tutorial: Ctrl-C -->         the first terminal's program is ended before
//   <!-- tutorial: skip, … -->        not for a test, for the reason given

/**
 * @typedef {'first terminal' | 'ask until' | 'is there' | 'Ctrl-C' | 'skip'} Mark
 * @typedef {{ language: string, text: string, line: number, mark?: Mark }} Block
 *
 * @typedef {object} Commands
 * @property {'commands'} is
 * @property {number} line where it begins in the page
 * @property {string} text
 * @property {boolean} staysUp in the first terminal
 * @property {boolean} asksUntil
 * @property {boolean} endsFirst Ctrl-C in the first terminal, before
 * @property {string} [result]
 *
 * @typedef {{ is: 'file', line: number, name: string, text: string, isThere: boolean }} File
 * @typedef {Commands | File} Step
 */

const MARKS = ['first terminal', 'ask until', 'is there', 'Ctrl-C', 'skip'];

/**
 * @param {string} markdown
 * @returns {Step[]}
 */
export function readPage(markdown) {
  /** @type {Step[]} */
  const steps = [];
  /** @type {Block | undefined} */
  let before;
  for (const block of blocksOf(markdown)) {
    const { language, line, mark, text } = block;
    if (language === 'text' && before?.language === 'sh') {
      const commands = steps.at(-1);
      if (commands?.is === 'commands') commands.result = text;
    } else if (language === 'sh') {
      if (mark !== 'skip') steps.push(commandsOf(block));
    } else if (language === 'ts') {
      const [, name] = /^\/\/ (\S+)\n/.exec(text) ?? [];
      if (!name) throw new Error(`line ${line}: the first line of a file says which: // src/…`);
      steps.push({ is: 'file', line, name, text: `${text}\n`, isThere: mark === 'is there' });
    } else {
      throw new Error(
        `line ${line}: a block of "${language}" that is neither a command, nor what one prints, nor a file`,
      );
    }
    before = block;
  }
  return steps;
}

/**
 * @param {Block} block
 * @returns {Commands}
 */
function commandsOf({ text, line, mark }) {
  return {
    is: 'commands',
    line,
    text,
    staysUp: mark === 'first terminal',
    asksUntil: mark === 'ask until',
    endsFirst: mark === 'Ctrl-C',
  };
}

/**
 * @param {string} markdown
 * @returns {Block[]}
 */
function blocksOf(markdown) {
  /** @type {Block[]} */
  const blocks = [];
  const lines = markdown.split('\n');
  /** @type {Mark | undefined} */
  let mark;
  for (let at = 0; at < lines.length; at += 1) {
    const [, said] = /^<!-- tutorial: ([^,]+?)(?:,.*)? -->$/.exec(lines[at] ?? '') ?? [];
    if (said !== undefined) {
      if (!MARKS.includes(said)) throw new Error(`line ${at + 1}: "${said}" is none of ${MARKS.join(', ')}`);
      mark = /** @type {Mark} */ (said);
    }
    const [, language] = /^```(\w+)/.exec(lines[at] ?? '') ?? [];
    if (language === undefined) continue;
    const end = lines.indexOf('```', at);
    if (end === -1) throw new Error(`line ${at + 1}: this is never closed`);
    blocks.push({ language, text: lines.slice(at + 1, end).join('\n'), line: at + 1, mark });
    mark = undefined;
    at = end;
  }
  return blocks;
}
