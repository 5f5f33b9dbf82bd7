import { UnserializableValueError } from '../errors.js';

/** Where in a payload a value stands. Becomes text only when there is something to say about it. */
export interface PayloadPath {
  readonly parent: PayloadPath | null;
  readonly segment: string;
}

/** The payload itself: its first word is how paths into it begin. */
export function rootPath(what: string): PayloadPath {
  return { parent: null, segment: what.replace(/ .*/s, '') };
}

/** A step further, written ready to follow: `'[3]'`, `'.get("a")'`. */
export function below(parent: PayloadPath, segment: string): PayloadPath {
  return { parent, segment };
}

/** The property of that key, as one would write it in code. */
export function member(parent: PayloadPath, key: string | symbol): PayloadPath {
  if (typeof key === 'symbol') return below(parent, `[${String(key)}]`);
  return below(parent, /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`);
}

/**
 * The error for a value that cannot be stored: where it is, what it is, what to do.
 *
 * @param what - the payload: `'arguments'`
 */
export function refusal(
  what: string,
  path: PayloadPath,
  problem: string,
  advice: string,
  cause?: unknown,
): UnserializableValueError {
  const message = `Cannot store the ${what}: ${pathText(path)} ${problem}. ${advice}`;
  return new UnserializableValueError(message, cause === undefined ? undefined : { cause });
}

/** A path goes into a message and from there into a row: a deep one keeps its two ends. */
function pathText(path: PayloadPath): string {
  const segments: string[] = [];
  for (let at: PayloadPath | null = path; at !== null; at = at.parent) segments.unshift(at.segment);
  const text = segments.join('');
  return text.length <= 500 ? text : `${text.slice(0, 250)} … ${text.slice(-200)}`;
}
