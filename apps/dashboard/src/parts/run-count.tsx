import { VisuallyHidden } from '@mantine/core';
import type { AttentionCount, RunCount } from '../api/types';
import { count as numberText } from './numbers';
import { PageLink } from './page-link';

interface CountLinkProps {
  readonly to: '/runs' | '/attention';
  /** What the page is to be narrowed to. */
  readonly search: Readonly<Record<string, string>>;
  readonly count: number;
  /** What is counted: for those who do not see where the number stands. */
  readonly what: string;
}

/** A number that leads to the list of what was counted. */
export function CountLink({ to, search, count, what }: CountLinkProps) {
  return (
    <PageLink to={to} search={search} inherit c={count === 0 ? 'dimmed' : undefined}>
      {numberText(count)}
      <VisuallyHidden> {what}</VisuallyHidden>
    </PageLink>
  );
}

/** How many runs, as a link to exactly these. */
export function RunCountLink({ of, what }: { of: RunCount; what: string }) {
  return <CountLink to="/runs" search={{ ...of.filter }} count={of.count} what={what} />;
}

/** How many runs of a class need a person, as a link to their groups. */
export function AttentionCountLink({ of }: { of: AttentionCount }) {
  return <CountLink to="/attention" search={of.attention} count={of.count} what="need attention" />;
}
