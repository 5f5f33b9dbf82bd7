import { Group } from '@mantine/core';
import type { SummaryView } from '../api/types';
import { Figure } from '../parts/figure';
import { CountLink } from '../parts/run-count';

const STATUSES = ['ready', 'performing', 'waiting', 'paused'] as const;
const NAMES = { ready: 'Ready', performing: 'Performing', waiting: 'Waiting', paused: 'Paused' } as const;

/** Ongoing runs, in all and by status, and how many of them need a person. */
export function RunCounts({ of }: { of: SummaryView }) {
  return (
    <Group component="dl" m={0} gap="sm" align="stretch">
      <Figure name="Ongoing">
        <CountLink to="/runs" search={{ state: 'ongoing' }} count={of.ongoing} what="ongoing runs" />
      </Figure>
      {STATUSES.map((status) => (
        <Figure key={status} name={NAMES[status]}>
          <CountLink to="/runs" search={{ state: status }} count={of.by_status[status]} what={`${status} runs`} />
        </Figure>
      ))}
      <Figure name="Need attention">
        <CountLink to="/attention" search={{}} count={of.stuck} what="runs that need attention" />
      </Figure>
    </Group>
  );
}
