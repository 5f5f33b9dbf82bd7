import type { AttemptView, ShownRun } from '../../api/types';

/** Milliseconds since 1970: from the first, before the second. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export type Part = 'waited' | 'queued' | 'ran' | 'paused';

/** A part of a bar. */
export interface Span extends Stretch {
  readonly part: Part;
}

/** An attempt's bar. */
export interface Bar {
  readonly attempt: AttemptView;
  readonly spans: readonly Span[];
}

/** What the timeline draws. */
export interface Drawing {
  readonly bars: readonly Bar[];
  readonly pauses: readonly Span[];
  /** From its first moment to its last, or to now. */
  readonly whole: Stretch;
  /** Null: the run has ended. */
  readonly now: number | null;
}

/** However little happened, there is something to see. */
const SHORTEST_MS = 20;
/** So much of the whole stays free on the right, for the line of now. */
const ROOM = 0.02;

/** The bars of the attempts that the page has, oldest first, and what is around them. */
export function drawingOf(run: ShownRun): Drawing {
  const readAt = Date.parse(run.read_at);
  const bars = run.attempts.toReversed().map((attempt) => ({ attempt, spans: spansOf(attempt) }));
  const isWhole = run.attempts.length === run.attempts_total;
  const first = isWhole ? Date.parse(run.created_at) : Date.parse(bars[0]?.attempt.created_at ?? run.created_at);
  const last = run.ended_at === null ? readAt : Date.parse(run.ended_at);
  const from = Math.min(first, ...bars.flatMap(({ spans }) => spans.map((span) => span.from)));
  const end = Math.max(from + SHORTEST_MS, last, ...bars.flatMap(({ spans }) => spans.map((span) => span.to)));
  const pauses = run.pauses
    .map(({ from: paused, to }) => ({
      part: 'paused' as const,
      from: Date.parse(paused),
      to: to ? Date.parse(to) : readAt,
    }))
    .filter(({ to }) => to > from);
  return {
    bars,
    pauses,
    whole: { from, to: end + (end - from) * ROOM },
    now: run.ended_at === null ? readAt : null,
  };
}

/** One after the other, as they were measured: it waited, was due, ran. */
function spansOf({ created_at, started_at, waited_ms, queued_ms, ran_ms }: AttemptView): Span[] {
  const created = Date.parse(created_at);
  const due = created + (waited_ms ?? 0);
  const started = started_at === null ? due + (queued_ms ?? 0) : Date.parse(started_at);
  const spans: Span[] = [
    { part: 'waited', from: created, to: due },
    { part: 'queued', from: due, to: due + (queued_ms ?? 0) },
    { part: 'ran', from: started, to: started + (ran_ms ?? 0) },
  ];
  // What it did not come to is not there; what took no time is.
  const lengths = { waited: waited_ms, queued: queued_ms, ran: ran_ms, paused: null };
  return spans.filter(({ part }) => lengths[part] !== null);
}
