import { RUN_STATES } from '../insights/run-filter.js';
import { STUCK_REASONS } from '../insights/stuck.js';
import { RUN_STATUSES } from '../model/states.js';

/** An option, as `parseArgs` of Node takes it and as the help shows it. */
export interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  /** What the help calls its value. */
  readonly value?: string;
  readonly help: string;
}

export type Options = Readonly<Record<string, Option>>;

export const COMMON: Options = {
  app: {
    type: 'string',
    value: 'file[#Name]',
    help: 'the compiled application module; default: "app" under "nestjs-pg-workflows" in package.json, else dist/app.module.js or where nest-cli.json leads',
  },
  // Not `env-file`: Node itself looks for that one, wherever it stands.
  env: { type: 'string', value: 'file', help: 'sets the environment variables of that file first' },
  json: { type: 'boolean', help: 'prints JSON' },
  verbose: { type: 'boolean', help: "shows stack traces, and Nest's log, on standard error" },
  help: { type: 'boolean', short: 'h', help: 'shows this' },
};

/** For commands that need no class of the application's. */
export const WITHOUT_APP: Options = {
  'database-url': {
    type: 'string',
    value: 'url',
    help: 'goes to the tables there without an application: classes and what comes next are then unknown',
  },
  schema: {
    type: 'string',
    value: 'name',
    help: 'where the tables are, with --database-url; default: the search path',
  },
};

export const PAYLOADS: Options = {
  payloads: { type: 'boolean', help: 'shows arguments, outputs, signal payloads and backtraces' },
};

export const VERB: Options = {
  reason: { type: 'string', value: 'text', help: 'why: stands on the audit trail' },
  actor: {
    type: 'string',
    value: 'name',
    help: 'who: stands there as cli:<name>; default: the name of the system user',
  },
  'expected-status': {
    type: 'string',
    value: 'status',
    help: `does nothing unless the run has this status: ${RUN_STATUSES.join(', ')}`,
  },
};

export const FILTERS: Options = {
  state: { type: 'string', value: 'state', help: `${RUN_STATES.join(', ')}; default: ongoing` },
  class: { type: 'string', value: 'name', help: 'the name of the class' },
  step: { type: 'string', value: 'name', help: 'the step that the run stands on' },
  'error-class': { type: 'string', value: 'name', help: "the class of its current attempt's error" },
  'subject-type': { type: 'string', value: 'name', help: 'what the run is about' },
  'subject-id': { type: 'string', value: 'id', help: 'which one of these' },
  'stuck-reason': { type: 'string', value: 'reason', help: `why it needs a person: ${STUCK_REASONS.join(', ')}` },
  'created-from': {
    type: 'string',
    value: 'moment',
    help: '2026-01-31T09:30:00Z, or a day, which begins at 00:00 UTC',
  },
  'created-to': { type: 'string', value: 'moment', help: 'before that moment' },
  'ended-from': { type: 'string', value: 'moment', help: 'finished or cancelled at that moment or later' },
  'ended-to': { type: 'string', value: 'moment', help: 'before that moment' },
};

export const PAGE: Options = {
  limit: { type: 'string', value: 'count', help: 'how many at most; default: 50, at most 10000' },
  cursor: { type: 'string', value: 'text', help: 'goes on behind a list that was cut: "next_cursor" of its JSON' },
};
