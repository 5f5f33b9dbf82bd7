import { Group, Text } from '@mantine/core';
import type { CSSProperties } from 'react';
import { OUTCOMES } from './outcome-colors';
import type { Bar, Part } from './spans';

interface LegendProps {
  readonly bars: readonly Bar[];
  readonly isPaused: boolean;
  readonly isOngoing: boolean;
}

/** What colours and patterns mean: those that are there. */
export function Legend({ bars, isPaused, isOngoing }: LegendProps) {
  const parts = new Set(bars.flatMap(({ spans }) => spans.map(({ part }) => part)));
  const outcomes = new Set(
    bars
      .filter(({ spans }) => spans.some(({ part }) => part === 'ran'))
      .map(({ attempt }) => attempt.outcome ?? 'open'),
  );
  return (
    <Group gap="md" component="ul" p={0} m={0} style={{ listStyle: 'none' }} aria-label="What the colours mean">
      {parts.has('waited') && <Entry part="waited" says="waited for its time or its signal" />}
      {parts.has('queued') && <Entry part="queued" says="queued: due and not taken" />}
      {[...outcomes].map((outcome) => (
        <Entry key={outcome} part="ran" color={OUTCOMES[outcome].color} says={`ran: ${OUTCOMES[outcome].word}`} />
      ))}
      {isPaused && <Entry part="paused" says="the run was paused" />}
      {isOngoing && (
        <Text component="li" size="xs">
          <span style={{ color: 'var(--mantine-color-blue-6)' }} aria-hidden>
            ┆
          </span>{' '}
          now
        </Text>
      )}
    </Group>
  );
}

function Entry({ part, color, says }: { part: Part; color?: string; says: string }) {
  return (
    <Text component="li" size="xs">
      <span className="timeline-swatch" style={{ '--outcome': color } as CSSProperties} aria-hidden>
        <span className="timeline-span" data-part={part} />
      </span>{' '}
      {says}
    </Text>
  );
}
