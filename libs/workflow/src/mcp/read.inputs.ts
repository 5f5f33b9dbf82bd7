import { STUCK_REASONS, type StuckReason } from '../insights/stuck.js';
import { WINDOWS, type Window } from '../insights/views.js';
import { RUN_STATES, type RunState } from '../insights/run-filter.js';
import { Field } from '../operating/input-field.js';
import { IsFlag, IsKey, IsMoment, IsOneOf, IsRunId, IsWholeUpTo } from '../operating/input-rules.js';

const KEY = { minLength: 1, maxLength: 255 } as const;
export const MAX_PAGE = 100;
export const DEFAULT_PAGE = 20;
const MOMENT = 'ISO 8601 with its zone (2026-01-31T09:30:00Z), or a day (2026-01-31), which begins at 00:00 UTC.';
const PAYLOADS =
  'True: show arguments, outputs, signal payloads and error texts, where the server permits that. They may hold personal data: ask for them only when the ' +
  'task needs them.';

/** `workflows` */
export class WorkflowsInput {
  @Field(
    { description: 'One status; "ongoing" (the default): those that have not ended; "all".', enum: RUN_STATES },
    IsOneOf(RUN_STATES),
  )
  status?: RunState;

  @Field({ description: 'The name of the workflow class.', ...KEY }, IsKey())
  workflow_class?: string;

  @Field({ description: 'The step that the run stands on.', ...KEY }, IsKey())
  step?: string;

  @Field({ description: "The class of the error of the run's current attempt.", nullable: true, ...KEY }, IsKey())
  error_class?: string;

  @Field({ description: 'Why the run needs a person.', enum: STUCK_REASONS }, IsOneOf(STUCK_REASONS))
  stuck_reason?: StuckReason;

  @Field({ description: 'What the run is about: the kind of thing, such as "Order".', ...KEY }, IsKey())
  subject_type?: string;

  @Field({ description: 'Which one of these.', ...KEY }, IsKey())
  subject_id?: string;

  @Field({ description: 'The run of this id.', format: 'uuid' }, IsRunId())
  workflow_id?: string;

  @Field({ description: `Created at that moment or later: ${MOMENT}` }, IsMoment())
  created_from?: string;

  @Field({ description: 'Created before that moment.' }, IsMoment())
  created_to?: string;

  @Field({ description: 'Ended (finished or cancelled) at that moment or later.' }, IsMoment())
  ended_from?: string;

  @Field({ description: 'Ended before that moment.' }, IsMoment())
  ended_to?: string;

  @Field({ description: '"next_cursor" of the page before, with the same filters.', ...KEY }, IsKey())
  cursor?: string;

  @Field(
    { description: 'How many runs a page has.', type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE },
    IsWholeUpTo(MAX_PAGE),
  )
  limit?: number | string;
}

/** `workflow` */
export class WorkflowInput {
  @Field({ description: 'The id of the run.', required: true, format: 'uuid' }, IsRunId())
  workflow_id!: string;

  @Field({ description: '"events_next_cursor" of the answer before: the audit trail from there on.', ...KEY }, IsKey())
  events_cursor?: string;

  @Field({ description: PAYLOADS, type: 'boolean', default: false }, IsFlag())
  include_payloads?: boolean;
}

/** `workflows_attention` */
export class AttentionInput {
  @Field({ description: "Only this workflow class's groups.", ...KEY }, IsKey())
  workflow_class?: string;

  @Field({ description: PAYLOADS, type: 'boolean', default: false }, IsFlag())
  include_payloads?: boolean;
}

/** `workflow_definitions` */
export class DefinitionsInput {
  @Field({ description: 'How far back is looked.', enum: WINDOWS, default: '24h' }, IsOneOf(WINDOWS))
  window?: Window;
}

/** `workflow_stats` */
export class StatsInput extends DefinitionsInput {
  @Field(
    { description: 'The name of the workflow class. Left out: counts of all classes, queues and workers.', ...KEY },
    IsKey(),
  )
  workflow_class?: string;
}
