import { Button, Group } from '@mantine/core';

/** Which page came before one that was turned to here. A page that was opened by its address is not among them. */
const pageBefore = new Map<string, string>();

interface PagerProps {
  /** Where the page begins; empty: at the newest. */
  readonly cursor: string;
  readonly next: string | null;
  readonly onTurn: (cursor: string) => void;
}

export function Pager({ cursor, next, onTurn }: PagerProps) {
  const before = pageBefore.get(cursor);
  if (cursor === '' && next === null) return null;
  return (
    <Group component="nav" aria-label="Pages of the list" gap="xs">
      <Button variant="default" size="xs" disabled={cursor === ''} onClick={() => onTurn('')}>
        Newest
      </Button>
      <Button variant="default" size="xs" disabled={before === undefined} onClick={() => onTurn(before ?? '')}>
        Newer
      </Button>
      <Button
        variant="default"
        size="xs"
        disabled={next === null}
        onClick={() => {
          if (next === null) return;
          pageBefore.set(next, cursor);
          onTurn(next);
        }}
      >
        Older
      </Button>
    </Group>
  );
}
