// @ts-check
// README and guides as they go into the package, where they are read from node_modules: the same pages, without pictures and what only
// our checks read, and with plain words where a page links to something that is not in the package.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = 'docs';
// For those who change the package, who have its repository.
const NOT_PACKED = /^docs\/(\.|api\/|decisions\/|images\/)/;

/**
 * @param {string} root of the workspace
 * @param {string} library the package's folder
 */
export function packDocs(root, library) {
  rmSync(path.join(library, FOLDER), { recursive: true, force: true });
  const guides = readdirSync(path.join(root, FOLDER), { recursive: true })
    .map((name) => path.posix.join(FOLDER, String(name).replaceAll(path.sep, '/')))
    .filter((name) => name.endsWith('.md') && !NOT_PACKED.test(name));
  const packed = new Set(['README.md', 'CHANGELOG.md', 'LICENSE', 'monitoring/README.md', ...guides]);
  // The changelog is not copied: it lives in the package's folder, where releases write to it, and has no links.
  for (const page of ['README.md', ...guides]) {
    if (!existsSync(path.join(root, page))) continue;
    const target = path.join(library, page);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, asPacked(readFileSync(path.join(root, page), 'utf8'), page, packed));
  }
}

/**
 * @param {string} text
 * @param {string} page where it stands, from the root
 * @param {Set<string>} packed
 */
function asPacked(text, page, packed) {
  const forReaders = text
    .replaceAll(/^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n/gm, '')
    .replaceAll(/^<!--[^]*?-->\n{1,2}/gm, '');
  return forReaders.replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g, (link, words, to) => {
    if (/^(https?:|mailto:|#)/.test(to)) return link;
    const [file, heading] = to.split('#');
    const from = path.posix.dirname(page);
    // The workspace keeps what the package has at its top in a folder of its own.
    const target = path.posix.join(from, file).replace(/^libs\/workflow\//, '');
    if (!packed.has(target)) return words;
    return `[${words}](${path.posix.relative(from, target)}${heading === undefined ? '' : `#${heading}`})`;
  });
}
