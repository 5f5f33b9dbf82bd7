import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { UsageError } from './exit.js';

/**
 * What a signal is to carry.
 *
 * @throws {UsageError} when it is no JSON object
 */
export async function payloadOf(texts: ReadonlyMap<string, string>): Promise<Record<string, unknown>> {
  const [given, file] = [texts.get('payload'), texts.get('payload-file')];
  if (given !== undefined && file !== undefined) {
    throw new UsageError('--payload and --payload-file are both given; one of them says what the signal carries.');
  }
  if (file !== undefined) return parsed(await contentOf(file), file === '-' ? 'standard input' : file);
  return given === undefined ? {} : parsed(given, '--payload');
}

async function contentOf(file: string): Promise<string> {
  if (file === '-') return textOf(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--payload-file cannot be read: ${(error as Error).message}`);
  }
}

function parsed(json: string, where: string): Record<string, unknown> {
  let value: unknown;
  // Editors and shells of Windows put a byte order mark first.
  const text = json.replace(/^\uFEFF/, '');
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `The payload in ${where} is no JSON: ${(error as Error).message}. In a shell it goes in single quotes: --payload '{"amount": 42}'`,
    );
  }
  const rounded = roundedNumber(text);
  if (rounded !== undefined) {
    throw new UsageError(
      `The payload in ${where} has the number ${rounded}, which JavaScript would round. Send it as a string: "${rounded}"`,
    );
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`The payload in ${where} has to be a JSON object, such as {"amount": 42}.`);
}

/** The first whole number of valid JSON that is too large to be held exactly, or any that is too large for a number at all. */
function roundedNumber(json: string): string | undefined {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
  return tokens.find((token) => {
    if (token.startsWith('"')) return false;
    const number = Number(token);
    return /^-?\d+$/.test(token) ? !Number.isSafeInteger(number) : !Number.isFinite(number);
  });
}
