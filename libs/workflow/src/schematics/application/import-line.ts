import ts from 'typescript';
import { nodesOf, parse } from './sources.js';

/** The text with `import { symbol } from 'specifier'` after its other imports, in their manner, unless it has that symbol from there. */
export function withImport(text: string, symbol: string, specifier: string): string {
  const source = parse({ path: 'application.ts', text });
  const imports = source.statements.filter(ts.isImportDeclaration);
  if (imports.some((one) => has(one, symbol, specifier))) return text;
  const last = imports.at(-1);
  const quote = last?.moduleSpecifier.getText().charAt(0) ?? "'";
  const line = `import { ${symbol} } from ${quote}${specifier}${quote}${!last || last.getText().endsWith(';') ? ';' : ''}`;
  if (!last) {
    const shebang = /^#!.*\n/.exec(text)?.[0] ?? '';
    return `${shebang}${line}\n${text.slice(shebang.length)}`;
  }
  // A comment behind the last import stays with it.
  const end = ts.getTrailingCommentRanges(text, last.getEnd())?.at(-1)?.end ?? last.getEnd();
  return `${text.slice(0, end)}\n${line}${text.slice(end)}`;
}

function has({ importClause, moduleSpecifier }: ts.ImportDeclaration, symbol: string, specifier: string): boolean {
  if (!importClause || importClause.isTypeOnly || (moduleSpecifier as ts.StringLiteral).text !== specifier)
    return false;
  return [...nodesOf(importClause, ts.isImportSpecifier)].some((one) => !one.isTypeOnly && one.name.text === symbol);
}
