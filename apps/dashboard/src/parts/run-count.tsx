import { Anchor, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { AttentionCount, RunCount } from '../api/types';
import { numberText } from './numbers';

/** A number that leads to the list of what was counted. */
export function CountLink({ to, search, count, what }: { to: string; search: object; count: number; what?: string }) {
  return (
    <Anchor component={Link} to={to} search={search as never} inherit c={count === 0 ? 'dimmed' : undefined}>
      {numberText(count)}
      {what !== undefined && <VisuallyHidden> {what}</VisuallyHidden>}
    </Anchor>
  );
}

/** How many runs, as a link to exactly these. `what` is for those who do not see where it stands. */
export function RunCountLink({ of, what }: { of: RunCount; what: string }) {
  return <CountLink to="/runs" search={of.filter} count={of.count} what={what} />;
}

/** How many runs of a class need a person, as a link to their groups. */
export function AttentionCountLink({ of }: { of: AttentionCount }) {
  return <CountLink to="/attention" search={of.attention} count={of.count} what="need attention" />;
}
