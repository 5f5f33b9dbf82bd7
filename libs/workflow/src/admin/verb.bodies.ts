import { RUN_STATUSES, type RunStatus } from '../model/states.js';
import { Field } from '../operating/input-field.js';
import { IsKey, IsKeyOrBlank, IsMoment, IsOneOf, IsPayload, IsReason } from '../operating/input-rules.js';

/** What every verb takes. */
export class VerbBody {
  @Field({ description: 'Why, for the audit trail. A blank one is none.' }, IsReason())
  reason?: string | null;

  @Field(
    {
      description: 'The status it was seen in. When the run has another by now, nothing is done.',
      enum: RUN_STATUSES,
    },
    IsOneOf(RUN_STATUSES),
  )
  expected_status?: RunStatus | null;
}

export class ResumeAtBody extends VerbBody {
  @Field({ description: 'The step to go on at: one of `steps` of the run.', required: true }, IsKey())
  step!: string;
}

export class RescheduleBody extends VerbBody {
  @Field(
    { description: 'When the scheduled step is to be due, with its zone.', format: 'date-time', required: true },
    IsMoment(),
  )
  at!: string;
}

export class SignalBody extends VerbBody {
  @Field({ description: "The signal's name.", required: true }, IsKey())
  name!: string;

  @Field(
    { description: 'What it carries: a JSON object. Default: `{}`.', type: 'object', additionalProperties: true },
    IsPayload(),
  )
  payload?: Record<string, unknown> | null;

  @Field(
    {
      description: 'The same delivery again, with the same key, stores nothing and wakes nothing. A blank one is none.',
    },
    IsKeyOrBlank(),
  )
  idempotency_key?: string | null;
}
