import type { ClassNumbers, RevisionNumbers } from './class-numbers.js';
import type { DurationBucket, FunnelView, RevisionView, SeriesBucket } from './definition-views.js';
import type { Links } from './links.js';
import { attemptStats } from './percentiles.js';
import type { Span } from './window.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Where the buckets of end-to-end durations begin and end: about three to each power of ten, at lengths that people name. */
export const DURATION_BOUNDS = [
  10, 30, 100, 300, SECOND, 3 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE,
  HOUR, 3 * HOUR, 10 * HOUR, DAY, 3 * DAY, 10 * DAY, 30 * DAY,
]; // prettier-ignore

/** So many revisions are told of. */
const NEWEST = 5;
/** A failure rate is worse when it is higher by more than this. */
const WORSE_BY = 0.05;

export function seriesOf(series: ClassNumbers['series'], span: Span, links: Links): SeriesBucket[] {
  const counts = new Map(series.map(({ bucket, what, runs }) => [`${what} ${bucket}`, runs]));
  return Array.from({ length: span.buckets }, (_, place) => {
    const edges = span.edges(place);
    const count = (what: string) => counts.get(`${what} ${place}`) ?? 0;
    return {
      ...edges,
      started: links.started(count('started'), { state: 'all' }, edges),
      finished: links.ended(count('finished'), 'finished', edges),
      cancelled: links.ended(count('cancelled'), 'cancelled', edges),
    };
  });
}

export function totalOf(series: ClassNumbers['series'], what: ClassNumbers['series'][number]['what']): number {
  return series.reduce((total, bucket) => total + (bucket.what === what ? bucket.runs : 0), 0);
}

export function durationsOf(durations: ClassNumbers['durations']): DurationBucket[] {
  const counts = new Map(durations.map(({ place, runs }) => [place, runs]));
  return [0, ...DURATION_BOUNDS].map((from, place) => ({
    from_ms: from,
    to_ms: DURATION_BOUNDS[place] ?? null,
    count: counts.get(place) ?? 0,
  }));
}

/** @param names the class's steps, in order */
export function funnelOf(names: readonly string[], { funnel, steps, series }: ClassNumbers, links: Links): FunnelView {
  const reached = new Map(steps.map((step) => [step.step, step.reached]));
  const ended = (state: 'finished' | 'cancelled') =>
    links.started(funnel.find((part) => part.ended === state)?.runs ?? 0, { state });
  return {
    started: links.started(totalOf(series, 'started')),
    steps: names.map((step) => ({
      step,
      reached: reached.get(step) ?? 0,
      now: links.started(funnel.find((part) => part.ended === null && part.step === step)?.runs ?? 0, {
        state: 'ongoing',
        step,
      }),
    })),
    finished: ended('finished'),
    cancelled: ended('cancelled'),
  };
}

/** @param revisions newest first */
export function revisionsOf(revisions: readonly RevisionNumbers[]): RevisionView[] {
  const told = revisions.map((numbers) => ({
    revision: numbers.revision,
    first_ended_at: new Date(numbers.first_ended).toISOString(),
    ...attemptStats(numbers),
  }));
  return told.slice(0, NEWEST).map((revision, place) => {
    const before = revisions[place + 1];
    return { ...revision, worse: before !== undefined && isWorse(revisions[place]!, before) };
  });
}

/** In whole attempts: as floating-point numbers, 0.15 is more than 0.05 above 0.1. */
function isWorse(one: RevisionNumbers, before: RevisionNumbers): boolean {
  const difference = one.failed * before.attempts - before.failed * one.attempts;
  return difference > WORSE_BY * one.attempts * before.attempts;
}
