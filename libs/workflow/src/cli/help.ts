import { COMMANDS, type Command } from './commands.js';
import { COMMON, type Option, type Options } from './options.js';
import { fields } from './output.js';

const NAME = 'nestjs-pg-workflows';
const WIDTH = 110;

export function generalHelp(): string {
  return [
    `Usage: ${NAME} <command> [options]`,
    '',
    ...fields(COMMANDS.map((command) => [usageOf(command), command.summary])),
    '',
    `"${NAME} <command> --help" says more. Options of all commands:`,
    '',
    ...optionLines(COMMON),
    ...optionLines({ version: { type: 'boolean', help: "shows the package's version" } }),
    '',
    'Exit codes: 0 done, or nothing found · 1 a finding, or refused · 2 could not be asked (command line, application, database), nothing was done unless it says so',
  ].join('\n');
}

export function commandHelp(command: Command): string {
  return [
    `Usage: ${NAME} ${usageOf(command)} [options]`,
    '',
    `${command.summary[0]!.toUpperCase()}${command.summary.slice(1)}.`,
    ...command.details,
    '',
    ...optionLines(command.options),
  ].join('\n');
}

function usageOf({ name, positionals }: Command): string {
  return [name, ...positionals.map((positional) => `<${positional}>`)].join(' ');
}

function optionLines(options: Options): string[] {
  const named = Object.entries(options).map(([name, option]) => [spelt(name, option), option.help] as const);
  const width = 32;
  return named.flatMap(([name, help]) => {
    const [first = '', ...rest] = wrapped(help, WIDTH - width);
    const lead =
      name.length > width - 4 ? [`  ${name}`, `${' '.repeat(width)}${first}`] : [`  ${name.padEnd(width - 2)}${first}`];
    return [...lead, ...rest.map((line) => `${' '.repeat(width)}${line}`)];
  });
}

function spelt(name: string, { short, value }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${value ? ` <${value}>` : ''}`;
}

function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
