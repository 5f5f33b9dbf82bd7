// @ts-check

import ts from 'typescript';

/** The imports of a page, each name once. One that is imported as a type here and as a value there is a value. */
export class Imports {
  /** @type {Map<string, { line: number, isType: boolean, write: (type: string) => string }>} */
  #found = new Map();

  /**
   * Takes the imports out of a chunk, and what a scope or the reader's imagination takes the place of.
   *
   * @param {string} code
   * @param {number} line
   * @returns {string} the rest, every character in its place
   */
  takeFrom(code, line) {
    const source = ts.createSourceFile('block.ts', code, ts.ScriptTarget.Latest, true);
    let rest = code;
    const blank = (/** @type {ts.Node} */ node) => {
      const from = node.getStart(source);
      rest = rest.slice(0, from) + rest.slice(from, node.end).replace(/\S/gu, ' ') + rest.slice(node.end);
    };
    for (const statement of source.statements) {
      if (ts.isImportDeclaration(statement)) {
        this.#add(statement, line + source.getLineAndCharacterOfPosition(statement.getStart(source)).line);
        blank(statement);
      } else if (ts.canHaveModifiers(statement)) {
        for (const modifier of ts.getModifiers(statement) ?? []) {
          if (modifier.kind === ts.SyntaxKind.ExportKeyword) blank(modifier);
        }
      }
    }
    return rest.replace(/…,?/g, ({ length }) => ' '.repeat(length));
  }

  /**
   * @param {ts.ImportDeclaration} declaration
   * @param {number} line
   */
  #add({ importClause, moduleSpecifier }, line) {
    const from = /** @type {ts.StringLiteral} */ (moduleSpecifier).text;
    if (from.startsWith('.')) return;
    const found = (/** @type {string} */ what, isType = false) => {
      const key = `${what} ${from}`;
      const before = this.#found.get(key);
      const write = (/** @type {string} */ type) => `import ${type}${what}${what && ' from '}'${from}';`;
      this.#found.set(key, {
        line: before?.line ?? line,
        isType: isType && before?.isType !== false,
        write,
      });
    };
    if (!importClause) return found('');
    const allTypes = importClause.phaseModifier === ts.SyntaxKind.TypeKeyword;
    if (importClause.name) found(importClause.name.text, allTypes);
    const { namedBindings } = importClause;
    if (!namedBindings) return;
    if (ts.isNamespaceImport(namedBindings)) return found(`* as ${namedBindings.name.text}`, allTypes);
    for (const { propertyName, name, isTypeOnly } of namedBindings.elements) {
      found(`{ ${propertyName ? `${propertyName.text} as ` : ''}${name.text} }`, allTypes || isTypeOnly);
    }
  }

  /**
   * The head of the module: its lines, and the page's line that each of them comes from.
   *
   * @returns {{ lines: string[], origins: number[] }}
   */
  module() {
    const imports = [...this.#found.values()];
    return {
      lines: [...imports.map(({ write, isType }) => write(isType ? 'type ' : '')), 'export {};'],
      origins: [...imports.map(({ line }) => line), 1],
    };
  }
}
