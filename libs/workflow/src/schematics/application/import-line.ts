import { ModuleImportDeclarator } from '@nestjs/schematics';

/** The text with `import { symbol } from 'specifier'` after its other imports, unless it has that symbol from there. */
export function withImport(text: string, symbol: string, specifier: string): string {
  if (importsFrom(text, symbol, specifier)) return text;
  // Nest's declarator works out a relative path, and since 11.1 alone adds the `.js` of an ES module: it is told the path instead.
  const declarator = new ModuleImportDeclarator({ relative: () => specifier });
  return declarator.declare(text, {
    symbol,
    name: symbol,
    metadata: '',
    path: '' as never,
    module: '' as never,
  });
}

function importsFrom(text: string, symbol: string, specifier: string): boolean {
  const imported = text.matchAll(/import\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/g);
  return [...imported].some(
    ([, names, from]) => from === specifier && new RegExp(String.raw`\b${symbol}\b`).test(names ?? ''),
  );
}
