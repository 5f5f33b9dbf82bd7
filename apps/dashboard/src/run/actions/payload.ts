/** What was typed as a signal's payload: an object, or why it is none. */
export type Payload = { readonly value: Record<string, unknown> } | { readonly error: string };

/** @param text blank: no payload, which is an empty object */
export function readPayload(text: string): Payload {
  if (text.trim() === '') return { value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { error: `This is not JSON${placeOf(error as Error, text)}: ${(error as Error).message}` };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { value: value as Record<string, unknown> };
  }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  return { error: `The payload has to be a JSON object, such as {"amount": 42}. This is ${kind}.` };
}

/** Browsers tell where it breaks in ways of their own, or not at all. */
function placeOf({ message }: Error, text: string): string {
  const lines = /line (\d+) column (\d+)/.exec(message);
  if (lines) return ` at line ${lines[1]}, column ${lines[2]}`;
  const position = /position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return ` at line ${before.length}, column ${before.at(-1)!.length + 1}`;
}
