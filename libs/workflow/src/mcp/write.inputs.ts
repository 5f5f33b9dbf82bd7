import { RUN_STATUSES, type RunStatus } from '../model/states.js';
import { Field } from '../operating/input-field.js';
import { IsKey, IsKeyOrBlank, IsOneOf, IsPayload, IsRunId, IsSaidReason } from '../operating/input-rules.js';

const KEY = { minLength: 1, maxLength: 255 } as const;
const MAX_REASON = 500;

/** What every write tool takes. */
export class ActInput {
  @Field({ description: 'The id of the run.', required: true, format: 'uuid' }, IsRunId())
  workflow_id!: string;

  @Field(
    {
      description: 'Why, for the audit trail, in words that a person will understand later.',
      required: true,
      minLength: 1,
      maxLength: MAX_REASON,
    },
    IsSaidReason(MAX_REASON),
  )
  reason!: string;

  @Field(
    {
      description: 'The status that you saw the run in. When it has another by now, nothing is done. Recommended.',
      enum: RUN_STATUSES,
    },
    IsOneOf(RUN_STATUSES),
  )
  expected_status?: RunStatus;
}

/** `workflow_resume_at` */
export class ResumeAtInput extends ActInput {
  @Field({ description: 'The step to go on at: one of "steps" of the run.', required: true, ...KEY }, IsKey())
  step!: string;
}

/** `workflow_signal` */
export class SignalInput extends ActInput {
  @Field({ description: "The signal's name.", required: true, ...KEY }, IsKey())
  name!: string;

  @Field(
    { description: 'What it carries: a JSON object. Default: {}.', type: 'object', additionalProperties: true },
    IsPayload(),
  )
  payload?: Record<string, unknown>;

  @Field(
    {
      description:
        'Sent twice with the same key, the signal is stored once: give one, so that the call can be repeated safely.',
      maxLength: 255,
    },
    IsKeyOrBlank(),
  )
  idempotency_key?: string;
}
