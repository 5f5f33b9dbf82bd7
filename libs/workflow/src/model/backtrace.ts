import { basename, join, resolve } from 'node:path';

/** A frame of a `stack`; a message may have such lines too, so the message is cut off first. */
const FRAME = /^\s+at /;
const FOREIGN = /\/node_modules\/|[( ]node:/;
const SPEC = /\.spec\.[cm]?[jt]sx?:/;
/** A stack is text that anyone may have set: no more of it is read. */
const MAX_STACK_LENGTH = 100_000;

/**
 * Where the engine's own files lie: `dist` of the package; `src` in this repository and where source maps are on. Nowhere,
 * when an application was bundled into one file: then its frames and ours look alike.
 */
const PACKAGE_ROOT = resolve(__dirname, '..', '..');
const ENGINE_ROOTS = basename(__dirname) === 'model' ? ['src', 'dist'].map((name) => join(PACKAGE_ROOT, name)) : [];

/**
 * The frames of a stack that belong to the application: none of Node's, of packages, nor of this engine.
 *
 * @param message - the error's own, which stands before the frames
 * @param lines - at most so many frames
 * @param engineRoots - folders whose files are the engine's; a `*.spec.ts` in them is not
 * @returns one frame a line, null when there are none
 */
export function cleanBacktrace(
  stack: string,
  message: string,
  lines: number,
  engineRoots: readonly string[] = ENGINE_ROOTS,
): string | null {
  // A frame is `at f (path:1:1)` or `at path:1:1`.
  const roots = engineRoots.flatMap((root) => [`(${slashed(root)}/`, ` ${slashed(root)}/`]);
  const isOurs = (frame: string) => !SPEC.test(frame) && roots.some((root) => frame.includes(root));
  const frames = afterMessage(stack, message)
    .slice(0, MAX_STACK_LENGTH)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .map((line) => line.trim())
    .filter((frame) => !isForeign(frame) && !isOurs(slashed(frame)))
    .slice(0, lines);
  return frames.length > 0 ? frames.join('\n') : null;
}

function afterMessage(stack: string, message: string): string {
  const start = message === '' ? -1 : stack.indexOf(message);
  return start < 0 ? stack : stack.slice(start + message.length);
}

function isForeign(frame: string): boolean {
  return FOREIGN.test(slashed(frame));
}

/** As in paths: no URLs of ES modules, no backslashes of Windows. */
function slashed(location: string): string {
  const path = location.includes('file://') ? decoded(location) : location;
  return path.replaceAll('\\', '/');
}

function decoded(location: string): string {
  try {
    return decodeURI(location).replace(/file:\/\/(\/(?=[A-Za-z]:))?/, '');
  } catch {
    return location;
  }
}
