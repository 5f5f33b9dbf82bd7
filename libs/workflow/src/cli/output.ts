import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/**
 * Standard output, for answers alone. Whatever else the application or Nest write there goes to standard error, so that a pipe or `--json` gets nothing
 * but the answer.
 */
export class Output {
  /** How the process ends when whoever reads hangs up (`| head`): as it would have. */
  exitCode = 0;
  /** They did. */
  hungUp = false;
  private readonly write: typeof process.stdout.write;
  private readonly colours: boolean;

  constructor() {
    const { stdout, stderr } = process;
    this.write = stdout.write.bind(stdout);
    // `hasColors` knows NO_COLOR, FORCE_COLOR and dumb terminals.
    this.colours = stdout.isTTY && stdout.hasColors();
    stdout.write = stderr.write.bind(stderr);
    for (const stream of [stdout, stderr]) {
      stream.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') throw error;
        this.hungUp = true;
        process.exit(this.exitCode);
      });
    }
  }

  /** Gives standard output back. */
  release(): void {
    process.stdout.write = this.write;
  }

  /** The width of the terminal; undefined: there is none, or it does not know (0), and nothing is cut. */
  get columns(): number | undefined {
    return (process.stdout.isTTY && process.stdout.columns) || undefined;
  }

  line(text = ''): Promise<void> {
    return this.text(`${text}\n`);
  }

  text(text: string): Promise<void> {
    return new Promise((resolve) => void this.write(text, () => resolve()));
  }

  json(value: unknown): Promise<void> {
    return this.line(JSON.stringify(value, null, 2));
  }

  /** Coloured, where there are colours. */
  paint(style: Style, text: string): string {
    return this.colours ? styleText(style, text) : text;
  }
}

/** Control characters of texts that others wrote would move the cursor, or hide what stands there. */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const INVISIBLE = /[\0-\x08\x0B-\x1F\x7F-\x9F\u061C\u200E\u200F\u202A-\u202E\u2028\u2029\u2066-\u2069\uFEFF]/g;

/** The text, with what a terminal would obey written out. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** As {@link visible}, on one line. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s*[\r\n]+\s*/g, ' ').replaceAll('\t', ' '));
}

/** Rows under their headings, aligned, two spaces between columns; the last column is cut to the width, if there is one. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[], width?: number): string[] {
  const lines = [headings, ...rows.map((row) => row.map(oneLine))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => {
    const text = line
      .map((cell, column) => (column === line.length - 1 ? cell : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd();
    return width !== undefined && text.length > width ? `${text.slice(0, Math.max(1, width - 1))}…` : text;
  });
}

/** Names and values below each other, the values aligned. */
export function fields(entries: readonly (readonly [string, string])[], indent = '  '): string[] {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${indent}${name.padEnd(width)}  ${value}`);
}
