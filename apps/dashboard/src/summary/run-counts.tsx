import type { SummaryView } from '../api/types';
import { Figure, Figures } from '../parts/figure';
import { CountLink } from '../parts/run-count';

const STATUSES = ['ready', 'performing', 'waiting', 'paused'] as const;
const NAMES = { ready: 'Ready', performing: 'Performing', waiting: 'Waiting', paused: 'Paused' } as const;

/** Ongoing runs, in all and by status, and how many of them need a person. */
export function RunCounts({ of }: { of: SummaryView }) {
  return (
    <Figures>
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
    </Figures>
  );
}
