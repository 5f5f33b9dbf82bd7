import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser';

/** What was typed as a signal's payload: an object, or why it is none. */
export type Payload = { readonly value: Record<string, unknown> } | { readonly error: string };

/** @param text blank: no payload, which is an empty object */
export function readPayload(text: string): Payload {
  if (text.trim() === '') return { value: {} };
  const inexact: string[] = [];
  let value: unknown;
  try {
    value = parseExactly(text, inexact);
  } catch {
    return { error: `This is not JSON${problemOf(text)}` };
  }
  if (inexact.length) {
    return { error: `The number ${inexact[0]} is too large to be kept exactly. Put it in quotes, as a text.` };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { value: value as Record<string, unknown> };
  }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  return { error: `The payload has to be a JSON object, such as {"amount": 42}. This is ${kind}.` };
}

/** Browsers tell a reviver what a number was written as; one that does not lets it pass. */
function parseExactly(text: string, inexact: string[]): unknown {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source ?? '';
    if (typeof value === 'number' && /^-?\d{16,}$/.test(source) && BigInt(source) !== BigInt(value))
      inexact.push(source);
    return value;
  };
  return JSON.parse(text, revive);
}

const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is no JSON value (texts stand in double quotes)',
  PropertyNameExpected: 'a name in double quotes is missing',
  ValueExpected: 'a value is missing',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'the closing brace is missing',
  CloseBracketExpected: 'the closing bracket is missing',
  EndOfFileExpected: 'nothing may follow',
  InvalidCommentToken: 'there are no comments in JSON',
  UnexpectedEndOfString: 'the text has no end',
};

/** Where it breaks, and how: browsers say that in ways of their own, or not at all. */
function problemOf(text: string): string {
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  if (!first) return '.';
  const before = text.slice(0, first.offset).split('\n');
  return ` at line ${before.length}, column ${before.at(-1)!.length + 1}: ${WORDS[printParseErrorCode(first.error)] ?? 'this cannot be read'}.`;
}
