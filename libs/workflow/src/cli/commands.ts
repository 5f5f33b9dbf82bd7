import { COMMON, FILTERS, PAGE, PAYLOADS, VERB, WITHOUT_APP, type Options } from './options.js';

export type CommandName = 'check' | 'list' | 'show' | 'resume' | 'cancel' | 'signal';

export interface Command {
  readonly name: CommandName;
  /** What stands behind its name, all required. */
  readonly positionals: readonly string[];
  readonly summary: string;
  readonly details: readonly string[];
  readonly options: Options;
  /** Works without the application too. */
  readonly withoutApp: boolean;
}

/** The commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'check',
    positionals: [],
    summary: 'before a deploy: what in flight this build would break',
    details: [
      'Compares the runs in flight with the classes and steps of this build, and the tables with what its version of the package needs. Run it with the new',
      'build, against the database that it will be deployed to. It changes nothing: migrations are not run.',
      'Exits with 1 when something would break.',
    ],
    options: {
      ignore: {
        type: 'string',
        multiple: true,
        value: 'class',
        help: 'a class or job of another application on the same tables; may be given several times',
      },
      ...COMMON,
    },
    withoutApp: false,
  },
  {
    name: 'list',
    positionals: [],
    summary: 'runs, newest first; ongoing ones unless told otherwise',
    details: ['All filters combine.'],
    options: { ...FILTERS, ...PAGE, ...WITHOUT_APP, ...COMMON },
    withoutApp: true,
  },
  {
    name: 'show',
    positionals: ['run'],
    summary: 'one run: what it does, its attempts and signals, its audit trail',
    details: ['The newest hundred attempts and signals, and the first 500 lines of the trail.'],
    options: { ...PAYLOADS, ...WITHOUT_APP, ...COMMON },
    withoutApp: true,
  },
  {
    name: 'resume',
    positionals: ['run'],
    summary: 'goes on with a paused run',
    details: ['Exits with 1 when the run is unknown, is not paused, or its class cannot say what comes next.'],
    options: {
      at: { type: 'string', value: 'step', help: 'goes on at that step instead' },
      ...VERB,
      ...PAYLOADS,
      ...COMMON,
    },
    withoutApp: false,
  },
  {
    name: 'cancel',
    positionals: ['run'],
    summary: 'ends a run for good',
    details: ['Exits with 1 when the run is unknown or has ended.'],
    options: { ...VERB, ...PAYLOADS, ...WITHOUT_APP, ...COMMON },
    withoutApp: true,
  },
  {
    name: 'signal',
    positionals: ['run', 'name'],
    summary: 'sends a signal to a run',
    details: [
      'Exits with 1 when the run is unknown or has ended, or the payload is refused. With an idempotency key it may be repeated: the second delivery stores',
      'nothing, and is fine.',
    ],
    options: {
      payload: { type: 'string', value: 'json', help: 'what it carries: a JSON object; default: {}' },
      'payload-file': { type: 'string', value: 'file', help: 'reads that object from a file; -: from standard input' },
      'idempotency-key': {
        type: 'string',
        value: 'key',
        help: 'the same delivery again, with the same key, stores nothing',
      },
      ...VERB,
      ...PAYLOADS,
      ...COMMON,
    },
    withoutApp: false,
  },
];

export function commandNamed(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}
