import { Button, Text } from '@mantine/core';
import { memo, useMemo } from 'react';
import { useEvents } from '../api/queries';
import type { EventView } from '../api/types';
import { useFirstThenAll } from '../parts/first-then-all';
import { LongText } from '../parts/long-text';
import { Moment } from '../parts/moment';
import { Section } from '../parts/section';
import { Failed, Loading } from '../parts/states';
import './trail.css';

/** What happened, in order, and who did it. */
export function Trail({ id, isOngoing }: { id: string; isOngoing: boolean }) {
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useEvents(id, isOngoing);
  const events = useFirstThenAll(useMemo(() => data?.pages.flatMap((page) => page.events) ?? [], [data]));
  return (
    <Section title="Audit trail">
      {error && <Failed error={error} again={refetch} />}
      {!data && !error && <Loading what="the audit trail" />}
      {events.length > 0 && (
        <ol className="trail">
          {events.map((event) => (
            <Line key={event.id} event={event} />
          ))}
        </ol>
      )}
      {hasNextPage && (
        <Button
          variant="default"
          size="xs"
          w="fit-content"
          loading={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          Load more
        </Button>
      )}
    </Section>
  );
}

const Line = memo(function Line({ event: { created_at, text } }: { event: EventView }) {
  return (
    <li>
      <Text span size="xs" c="dimmed" className="trail-time">
        <Moment at={created_at} clock />
      </Text>
      <LongText size="sm">{text}</LongText>
    </li>
  );
});
