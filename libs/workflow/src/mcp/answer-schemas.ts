import { RUN_STATUSES } from '../model/states.js';
import { STUCK_REASONS } from '../insights/stuck.js';

/**
 * What tools answer, as JSON Schema: the fields that one decides by. Models read these for each conversation, so they leave out what explains itself; further
 * fields may be there.
 */
const TEXT = { type: 'string' };
const TEXT_OR_NULL = { type: ['string', 'null'] };
const COUNT = { type: 'integer' };
const LIST = { type: 'array', items: { type: 'object' } };
const STATUS = { enum: RUN_STATUSES };

const LISTED = {
  workflow_class: TEXT,
  id: { type: 'string', description: 'The "workflow_id" that other tools take.' },
  subject: { type: ['object', 'null'], description: 'What the run is about: { type, id }.' },
  status: STATUS,
  step: { type: 'string', description: 'The step that it stands on.' },
  attempt: { type: ['integer', 'null'] },
  error_class: TEXT_OR_NULL,
  stuck_reason: { enum: [...STUCK_REASONS, null] },
  now: { type: 'string', description: 'What it does, in words.' },
  next: { type: ['string', 'null'], description: 'What follows; null: nothing does by itself.' },
  created_at: TEXT,
  updated_at: TEXT,
  ended_at: TEXT_OR_NULL,
  available_actions: { type: 'array', items: TEXT, description: 'What would be accepted now.' },
};

/** `workflows` */
export const RUNS = object({ runs: { type: 'array', items: object(LISTED) }, next_cursor: TEXT_OR_NULL });

/** `workflow` */
export const RUN = object({
  ...LISTED,
  read_at: { type: 'string', description: "The database's clock when this was read." },
  definition_loaded: { type: 'boolean' },
  definition_outdated: { type: 'boolean', description: 'It began on another list of steps than the class has now.' },
  rerun_of: TEXT_OR_NULL,
  rerun_as: TEXT_OR_NULL,
  steps: { type: 'array', items: TEXT, description: 'The steps that workflow_resume_at takes.' },
  resume_label: { type: ['string', 'null'], description: 'What workflow_resume would do.' },
  payloads_shown: { type: 'boolean', description: 'False: payloads and error texts are redacted.' },
  args: {},
  attempts: { ...LIST, description: 'The newest hundred, newest first.' },
  attempts_total: COUNT,
  pauses: LIST,
  signals: { ...LIST, description: 'The newest hundred, newest first.' },
  events: { ...LIST, description: 'The audit trail, oldest first: "text" says what happened, by whom and why.' },
  events_next_cursor: TEXT_OR_NULL,
});

/** `workflows_attention` */
export const ATTENTION = object({
  groups: {
    type: 'array',
    items: object({
      workflow_class: TEXT,
      step: TEXT,
      stuck_reason: { enum: STUCK_REASONS },
      error_class: TEXT_OR_NULL,
      status: STATUS,
      runs: { type: 'integer', description: 'How many.' },
      first_seen_at: TEXT,
      last_seen_at: TEXT,
      error_message: { type: ['string', 'null'], description: 'The latest one.' },
      actions: {
        type: 'array',
        items: TEXT,
        description:
          'What people can do with the group as a whole. Here its runs are acted on one by one: each tells its own available_actions by the tool workflow ' +
          '(an overdue wait: its signal, or to skip the step).',
      },
    }),
  },
  groups_total: COUNT,
  runs_total: COUNT,
});

/** `workflow_definitions` */
export const DEFINITIONS = object({ window: { type: 'object' }, definitions: LIST });

/** `workflow_stats`: of a class, or of all. */
export const STATS = {
  type: 'object',
  properties: {
    workflow_class: TEXT,
    window: { type: 'object' },
    pipeline: { ...LIST, description: 'Its steps in order, with the runs at each now and its numbers.' },
    series: LIST,
    durations: LIST,
    funnel: { type: 'object' },
    revisions: LIST,
    stuck: COUNT,
    by_status: { type: 'object' },
    by_reason: { type: 'object' },
    queues: LIST,
    oldest_due_step_seconds: { type: 'number' },
    workers: LIST,
  },
};

/** Of every tool that acts. */
export const ACTED = {
  type: 'object',
  properties: {
    ok: { type: 'boolean', description: 'False: nothing was done.' },
    reason: { type: 'string', description: 'What was done, or why nothing was.' },
    code: { type: 'string', description: 'Of a refusal: stable, for programs.' },
    status: { ...STATUS, description: "Of a refusal: the run's status now." },
    allowed: { type: 'array', items: TEXT, description: 'Of a refusal: the actions that are accepted now.' },
    workflow: {
      type: ['object', 'null'],
      description:
        'The run as the tool workflow shows it, without arguments, attempts, signals and trail, read after the action; null: there is none, or it could not ' +
        'be read.',
    },
  },
  required: ['ok', 'reason', 'workflow'],
};

/** All of these fields are there. */
function object(properties: Record<string, object>) {
  return { type: 'object' as const, properties, required: Object.keys(properties) };
}
