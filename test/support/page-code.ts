/**
 * The code of a page of docs/, as modules that a test runs: what a reader copies is what is tried. A block whose first line names a file (`// order.workflow.ts`)
 * is that module; what the page leaves to its reader, the test brings along.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Imports } from '../../scripts/docs-code/imports.mjs';

const root = path.join(__dirname, '../..');
/** Inside the repository, where Jest transforms what it loads; git, linters and formatters leave `reports` alone. */
const folderOf = (page: string) => path.join(root, 'reports/page-code', path.basename(page, '.md'));

/** A fenced block: its language, what else stands beside that, and the lines in it. */
interface Block {
  readonly language: string;
  readonly marks: string;
  readonly lines: readonly string[];
}

/**
 * @param page from the top: `docs/how-to/sagas.md`
 * @param brought modules that the page imports and does not show, by file name
 * @returns loads a module of the page, by its file name
 */
export function pageCode(page: string, brought: Record<string, string> = {}): (file: string) => any {
  const folder = folderOf(page);
  rmSync(folder, { recursive: true, force: true });
  const files = new Map(Object.entries(brought));
  for (const { language, lines } of blocksOf(page)) {
    const file = language === 'ts' ? /^\/\/ ([\w./-]+\.ts)$/.exec(lines[0] ?? '')?.[1] : undefined;
    if (file === undefined) continue;
    if (files.has(file))
      throw new Error(`${page} shows ${file} twice, or the test brings it along though the page shows it`);
    files.set(file, lines.join('\n'));
  }
  for (const [file, code] of files) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), `${code}\n`);
  }
  return (file) => {
    if (!files.has(file)) throw new Error(`${page} shows no ${file}: ${[...files.keys()].join(', ')}`);
    return require(path.join(folder, file));
  };
}

/**
 * Runs all of a page's code, as one module: what it leaves to the imagination (its `docs-code` comments, which must be code that runs), then its blocks, each
 * inside of the one before, as scripts/docs-code.mjs checks them.
 */
export function runPage(page: string): void {
  const imports = new Imports();
  const preludes = Array.from(textOf(page).matchAll(/^<!-- docs-code\n(.*?)^-->$/gms), ([, code]) => code);
  const blocks = blocksOf(page).filter(({ language, marks }) => language === 'ts' && !marks.includes('no-check'));
  const code = [
    ...preludes.map((prelude) => imports.takeFrom(prelude, 1)),
    ...blocks.map(({ lines }) => `{\n${imports.takeFrom(lines.join('\n'), 1)}`),
  ];
  const module = [...imports.module().lines, ...code, '}'.repeat(blocks.length)].join('\n');
  const folder = folderOf(page);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'page.ts'), `${module}\n`);
  require(path.join(folder, 'page.ts'));
}

/** The text of the page's first block of a language: its `ini`, say. */
export function pageBlock(page: string, language: string): string {
  const found = blocksOf(page).find((block) => block.language === language);
  if (!found) throw new Error(`${page} has no block of ${language}`);
  return found.lines.join('\n');
}

/** The text of the page's block of a language whose first line is a comment that begins with a name: `-- find runs: …`. */
export function pageBlockNamed(page: string, language: string, name: string): string {
  const found = blocksOf(page).filter(
    ({ language: of, lines }) => of === language && /^\W+([\w -]+)/.exec(lines[0])?.[1] === name,
  );
  if (found.length !== 1) throw new Error(`${page} has ${found.length} blocks of ${language} called "${name}"`);
  return found[0].lines.join('\n');
}

function blocksOf(page: string): Block[] {
  return Array.from(textOf(page).matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms), ([, language, marks, code]) => ({
    language,
    marks,
    lines: code.trimEnd().split('\n'),
  }));
}

const textOf = (page: string) => readFileSync(path.join(root, page), 'utf8');
