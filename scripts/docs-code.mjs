// @ts-check
// Type-checks the TypeScript of README.md and of the pages under docs/, against the sources.
//
//   npm run docs:check
//
// The ```ts blocks of a page become one module, docs/.code/<page>.ts: its imports gathered at the top, each block in a scope of its own
// inside the one before, so that a block sees what stands above it and may declare a name again. Imports of relative paths are left out:
// those files are the reader's. What the page leaves to the imagination is declared in a comment, best at its top:
//
//   <!-- docs-code
//   declare class Order { id: number }
//   -->
//
// A block of class members becomes a class that extends the comment's `Surroundings`, if it has one; a decorator alone gets a class. An
// ellipsis (…) stands for nothing. A block that opens with ```ts no-check is passed over.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { Imports } from './docs-code/imports.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = path.join(root, 'docs/.code');

/**
 * A piece of TypeScript, and where in the page it stands.
 * @typedef {{ code: string, line: number }} Chunk
 * @typedef {{ file: string, preludes: Chunk[], blocks: Chunk[], unchecked: number }} Page
 *
 * A module: its lines, and the page's line that each of them comes from.
 * @typedef {{ lines: string[], origins: number[] }} Module
 */

const GENERATED = /^(\.code|api)\//;

const pages = ['README.md', ...pagesUnder('docs')].map(readPage).filter(({ blocks }) => blocks.length > 0);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
/** @type {Map<string, { page: Page, origins: number[] }>} */
const modules = new Map();
for (const page of pages) {
  const { lines, origins } = moduleOf(page);
  const file = path.join(folder, `${page.file.slice(0, -'.md'.length).replaceAll('/', '.')}.ts`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  modules.set(file, { page, origins });
}

const problems = check([...modules.keys()]);
for (const problem of problems) console.error(problem);
/** @param {(page: Page) => number} of */
const total = (of) => pages.reduce((sum, page) => sum + of(page), 0);
console.log(
  `docs: ${total((page) => page.blocks.length)} blocks of ${pages.length} pages, ${problems.length} errors, ` +
    `${total((page) => page.unchecked)} blocks not checked`,
);
process.exitCode = problems.length ? 1 : 0;

/**
 * @param {string} top
 * @returns {string[]}
 */
function pagesUnder(top) {
  return readdirSync(path.join(root, top), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll(path.sep, '/'))
    .filter((name) => name.endsWith('.md') && !GENERATED.test(name))
    .toSorted()
    .map((name) => `${top}/${name}`);
}

/**
 * @param {string} file
 * @returns {Page}
 */
function readPage(file) {
  /** @type {Page} */
  const page = { file, preludes: [], blocks: [], unchecked: 0 };
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const fence = /^\s*(`{3,})\s*(.*)$/.exec(lines[at] ?? '');
    const isPrelude = lines[at]?.startsWith('<!-- docs-code');
    if (!fence && !isPrelude) continue;
    const end = fence ? fence[1] : '-->';
    const from = at + 1;
    do at += 1;
    while (at < lines.length && lines[at]?.trim() !== end);
    if (at === lines.length) throw new Error(`${file}:${from}: this is never closed`);
    const chunk = { code: lines.slice(from, at).join('\n'), line: from + 1 };
    if (isPrelude) page.preludes.push(chunk);
    const [language, ...marks] = fence?.[2]?.split(/\s+/) ?? [];
    if (language !== 'ts') continue;
    if (marks.includes('no-check')) page.unchecked += 1;
    else page.blocks.push(chunk);
  }
  return page;
}

/**
 * @param {Page} page
 * @returns {Module}
 */
function moduleOf({ preludes, blocks }) {
  const imports = new Imports();
  /** @type {Module} */
  const body = { lines: [], origins: [] };
  const surrounded = preludes.some(({ code }) => /\bclass Surroundings\b/.test(code));
  for (const { code, line } of preludes) add(body, imports.takeFrom(code, line), line);
  for (const [index, { code, line }] of blocks.entries()) {
    const rest = imports.takeFrom(code, line);
    const [before, after] = wrappingOf(rest, index + 1, surrounded);
    add(body, before, line);
    add(body, rest, line);
    add(body, after, line);
  }
  add(body, blocks.map(() => '}').join(' '), 1);
  const head = imports.module();
  return { lines: [...head.lines, ...body.lines], origins: [...head.origins, ...body.origins] };
}

/**
 * @param {Module} module
 * @param {string} code
 * @param {number} origin the page's line that the first one comes from
 */
function add(module, code, origin) {
  if (code === '') return;
  for (const [index, line] of code.split('\n').entries()) {
    module.lines.push(line);
    module.origins.push(origin + index);
  }
}

/**
 * What makes a block stand by itself: the scope it opens (which the blocks after it are in) and, for a fragment, the class around it.
 *
 * @param {string} code
 * @param {number} number
 * @param {boolean} surrounded
 * @returns {[before: string, after: string]}
 */
function wrappingOf(code, number, surrounded) {
  const scope = `async function block${number}() {`;
  /** @type {[string, string][]} */
  const wrappings = [
    [scope, ''],
    [`${scope} class Members${number} ${surrounded ? 'extends Surroundings ' : ''}{`, '}'],
    [scope, `class Decorated${number} {}`],
  ];
  const parses = (/** @type {[string, string]} */ [before, after]) =>
    !ts.transpileModule(`${before}\n${code}\n${after}\n}`, {
      reportDiagnostics: true,
      compilerOptions: { experimentalDecorators: true, target: ts.ScriptTarget.ES2023 },
    }).diagnostics?.length;
  return wrappings.find(parses) ?? [scope, ''];
}

/**
 * @param {string[]} files
 * @returns {string[]} one line an error, at the page's line
 */
function check(files) {
  const { config, error } = ts.readConfigFile(path.join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file));
  if (error) return [ts.flattenDiagnosticMessageText(error.messageText, '\n')];
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(files, { ...options, noUnusedLocals: false, noUnusedParameters: false });
  const diagnostics = [
    ...program.getOptionsDiagnostics(),
    ...files.flatMap((file) => {
      const source = program.getSourceFile(file);
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    }),
  ];
  return diagnostics.map(({ file, start = 0, code, messageText }) => {
    const message = `error TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    const module = file && modules.get(path.normalize(file.fileName));
    if (!file || !module) return message;
    const { line, character } = file.getLineAndCharacterOfPosition(start);
    return `${module.page.file}:${module.origins[line]}:${character + 1} - ${message}`;
  });
}
