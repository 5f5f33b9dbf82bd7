import { Text } from '@mantine/core';
import type { Percentiles } from '../api/types';
import classes from './percentiles.module.css';
import { durationText } from './rates';

const NAMES = ['p50', 'p95', 'p99'] as const;
export type PercentileName = (typeof NAMES)[number];

/** A percentile of a duration; a dash: there is nothing that it could be of. */
export function percentileText(of: Percentiles, name: PercentileName): string {
  const ms = of[`${name}_ms`];
  return ms === null ? '–' : durationText(ms);
}

/** `p50 1.2s · p95 4s · p99 9s`, and a note when that is of few. */
export function PercentilesText({ of, names = NAMES }: { of: Percentiles; names?: readonly PercentileName[] }) {
  if (of.sample_size === 0) return '–';
  return (
    <>
      <span className={classes.percentiles}>
        {names.map((name) => (
          <span key={name}>
            <Text span size="xs" c="dimmed">
              {name}
            </Text>{' '}
            {percentileText(of, name)}
          </span>
        ))}
      </span>
      <FewSamples of={of} />
    </>
  );
}

/** `Only 7 samples.` */
export function FewSamples({ of }: { of: Percentiles }) {
  return (
    of.note !== null && (
      <Text size="xs" c="dimmed">
        {of.note}
      </Text>
    )
  );
}
