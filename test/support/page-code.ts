/**
 * The code of a page of docs/, as modules that a test runs: what a reader copies is what is tried. A block whose first line names a file (`// order.workflow.ts`)
 * is that module; what the page leaves to its reader, the test brings along.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');
/** Inside the repository, where Jest transforms what it loads; git, linters and formatters leave `reports` alone. */
const folderOf = (page: string) => path.join(root, 'reports/page-code', path.basename(page, '.md'));

/** A fenced block: its language, and the lines in it. */
interface Block {
  readonly language: string;
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

/** The text of the page's first block of a language: its `ini`, say. */
export function pageBlock(page: string, language: string): string {
  const found = blocksOf(page).find((block) => block.language === language);
  if (!found) throw new Error(`${page} has no block of ${language}`);
  return found.lines.join('\n');
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(path.join(root, page), 'utf8');
  return Array.from(text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms), ([, language, code]) => ({
    language,
    lines: code.trimEnd().split('\n'),
  }));
}
