import { parseArgs } from 'node:util';
import { commandNamed, COMMANDS, type Command } from './commands.js';
import { UsageError } from './exit.js';

/** What the command line says. */
export interface Given {
  readonly command: Command;
  readonly positionals: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly flags: ReadonlySet<string>;
}

export type Parsed =
  | { readonly kind: 'help'; readonly command: Command | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'command'; readonly given: Given };

/** @throws {UsageError} saying what is wrong and what there is */
export function parse(argv: readonly string[]): Parsed {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    return { kind: 'help', command: (rest[0] !== undefined && commandNamed(rest[0])) || null };
  }
  if (name === '--version' || name === '-v') return { kind: 'version' };
  const command = commandNamed(name);
  if (!command) {
    const problem = name.startsWith('-')
      ? `The command comes first, before ${name}.`
      : `There is no command "${name}".`;
    throw new UsageError(`${problem} There are: ${COMMANDS.map((one) => one.name).join(', ')}.`);
  }
  const { values, positionals } = read(command, rest);
  if (values.help === true) return { kind: 'help', command };
  const given = givenOf(command, values, positionals);
  assertPositionals(given);
  return { kind: 'command', given };
}

type Values = Readonly<Record<string, unknown>>;

function read(command: Command, args: string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short !== undefined && { short }), ...(multiple !== undefined && { multiple }) },
    ]),
  );
  try {
    const { values, positionals, tokens } = parseArgs({
      args,
      options,
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    const seen = new Set<string>();
    for (const token of tokens) {
      if (token.kind !== 'option') continue;
      if (seen.has(token.name) && !command.options[token.name]?.multiple) {
        throw new UsageError(`--${token.name} is given twice.`);
      }
      seen.add(token.name);
    }
    return { values, positionals };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Node's own words; its advice about `--` is about positionals that begin with a dash.
    const [problem] = (error as Error).message.split(/\. To specify|\n/);
    throw new UsageError(
      `${problem}. Options of "${command.name}": ${Object.keys(command.options)
        .map((one) => `--${one}`)
        .join(', ')}.`,
    );
  }
}

function givenOf(command: Command, values: Values, positionals: string[]): Given {
  const entries = Object.entries(values);
  return {
    command,
    positionals,
    texts: new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')),
    lists: new Map(entries.filter((entry): entry is [string, string[]] => Array.isArray(entry[1]))),
    flags: new Set(entries.filter(([, value]) => value === true).map(([name]) => name)),
  };
}

function assertPositionals({ command, positionals }: Given): void {
  const missing = command.positionals[positionals.length];
  if (missing !== undefined) {
    const what = missing === 'run' ? "the run's id" : `the ${command.name}'s ${missing}`;
    throw new UsageError(
      `"${command.name}" needs ${what}: ${command.name} ${command.positionals.map((one) => `<${one}>`).join(' ')}.`,
    );
  }
  if (positionals.length > command.positionals.length) {
    throw new UsageError(
      `"${positionals[command.positionals.length]}" is one too many for "${command.name}". A value with spaces goes in quotes.`,
    );
  }
}
