import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
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
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--payload-file cannot be read: ${(error as Error).message}`);
  }
}

function parsed(json: string, where: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UsageError(
      `The payload in ${where} is no JSON: ${(error as Error).message}. In a shell it goes in single quotes: --payload '{"amount": 42}'`,
    );
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`The payload in ${where} has to be a JSON object, such as {"amount": 42}.`);
}
