import { RUN_STATES, type RunState } from '../insights/run-filter.js';
import { STUCK_REASONS, type StuckReason } from '../insights/stuck.js';
import { Field } from '../operating/input-field.js';
import { IsKey, IsMoment, IsOneOf, IsRunId, IsWholeUpTo, momentOf } from '../operating/input-rules.js';

const MAX_PAGE = 200;

/** A page of a list. */
export class PageQuery {
  @Field({ description: '`next_cursor` of the page before.' }, IsKey())
  cursor?: string;

  @Field({ description: 'How many a page holds.', type: 'integer', default: 50 }, IsWholeUpTo(MAX_PAGE))
  limit?: string;
}

/** `GET api/runs`: filters, which all combine, and the page. */
export class RunListQuery extends PageQuery {
  @Field(
    { description: 'One status; `ongoing` (the default): those that have not ended; `all`.', enum: RUN_STATES },
    IsOneOf(RUN_STATES),
  )
  state?: RunState;

  @Field({ description: 'The name of the class.' }, IsKey())
  class?: string;

  @Field({ description: 'The step that the run stands on.' }, IsKey())
  step?: string;

  @Field({ description: "The error's class, of the run's current attempt." }, IsKey())
  error_class?: string;

  @Field({ description: 'What the run is about.' }, IsKey())
  subject_type?: string;

  @Field({ description: 'Which one of these.' }, IsKey())
  subject_id?: string;

  @Field({ description: 'The run of this id.', format: 'uuid' }, IsRunId())
  id?: string;

  @Field({ description: 'Created at that moment or later.', format: 'date-time' }, IsMoment())
  created_from?: string;

  @Field({ description: 'Created before that moment.', format: 'date-time' }, IsMoment())
  created_to?: string;

  @Field({ description: 'Ended at that moment or later.', format: 'date-time' }, IsMoment())
  ended_from?: string;

  @Field({ description: 'Ended before that moment.', format: 'date-time' }, IsMoment())
  ended_to?: string;

  @Field({ description: 'Why it needs a person.', enum: STUCK_REASONS }, IsOneOf(STUCK_REASONS))
  stuck_reason?: StuckReason;
}

/** The page's place and size, as reads take them. */
export function limitOf({ cursor, limit }: PageQuery): { cursor?: string; limit: number } {
  return { ...(cursor !== undefined && { cursor }), limit: Number(limit ?? 50) };
}

/** The filters, as reads take them. */
export function filterOf({ cursor: _cursor, limit: _limit, ...filter }: RunListQuery) {
  const moments = ['created_from', 'created_to', 'ended_from', 'ended_to'] as const;
  const dates = moments.flatMap((name) =>
    filter[name] === undefined ? [] : [[name, momentOf(filter[name])!] as const],
  );
  return { ...filter, ...Object.fromEntries(dates) };
}
