import { STUCK_REASONS, type StuckReason } from '../insights/stuck.js';
import { Field } from '../operating/input-field.js';
import { IsKey, IsOneOf, IsReason } from '../operating/input-rules.js';

/** `GET api/attention` */
export class AttentionQuery {
  @Field({ description: "Only this class's." }, IsKey())
  class?: string;
}

/** A group of stuck runs, as `GET api/attention` names it, and why something is done with it. */
export class GroupBody {
  @Field({ description: 'The name of the class.', required: true }, IsKey())
  class!: string;

  @Field({ description: 'The step that the runs stand on.', required: true }, IsKey())
  step!: string;

  @Field({ description: "The group's `reason`.", enum: STUCK_REASONS, required: true }, IsOneOf(STUCK_REASONS))
  stuck_reason!: StuckReason;

  @Field({ description: "The group's `error_class`; null or left out: none.", nullable: true }, IsKey())
  error_class?: string | null;

  @Field({ description: 'Why, for the audit trail. A blank one is none.' }, IsReason())
  reason?: string | null;
}
