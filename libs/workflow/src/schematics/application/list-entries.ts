import ts from 'typescript';

/** The text with entries at the end of a list that is written in it, each on a line of its own where the last one is. */
export function withEntries(text: string, list: ts.ArrayLiteralExpression, entries: readonly string[]): string {
  const { elements } = list;
  const last = elements.at(-1);
  if (!last) {
    const position = list.getEnd() - 1;
    const code = inManner(text, entries.length === 1 ? entries[0]! : onLines(entries));
    return text.slice(0, position) + code + text.slice(position);
  }
  const comma = elements.hasTrailingComma;
  // A comment behind the last entry stays with it.
  const from = comma ? elements.end : last.getEnd();
  const comment = ts.getTrailingCommentRanges(text, from)?.at(-1);
  const to = comment?.end ?? from;
  const ownLine = /\n[ \t]*$/.exec(text.slice(0, last.getStart()))?.[0];
  const separator = ownLine ?? (comment?.kind === ts.SyntaxKind.SingleLineCommentTrivia ? '\n    ' : ' ');
  const code = separator + inManner(text, entries.join(`,${separator}`));
  return `${text.slice(0, from)}${comma ? '' : ','}${text.slice(from, to)}${code}${comma ? ',' : ''}${text.slice(to)}`;
}

/** Entries, each on a line of its own, for between the brackets of a list that had none. */
export const onLines = (entries: readonly string[]): string =>
  `\n${entries.map((entry) => `    ${entry},\n`).join('')}  `;

/** Code that goes into a text, indented by tabs if the text is. */
export const inManner = (text: string, code: string): string =>
  /^\t/m.test(text) ? code.replace(/^ +/gm, (spaces) => '\t'.repeat(spaces.length / 2)) : code;
