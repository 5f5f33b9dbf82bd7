import { Badge } from '@mantine/core';
import type { RunStatus } from '../api/types';

const COLORS: Readonly<Record<RunStatus, string>> = {
  ready: 'blue',
  performing: 'cyan',
  waiting: 'violet',
  paused: 'orange',
  finished: 'green',
  cancelled: 'gray',
};

/** Where a run stands: the word says it, the colour only repeats it. */
export function Status({ status }: { status: RunStatus }) {
  return (
    <Badge color={COLORS[status]} variant="light" tt="none">
      {status}
    </Badge>
  );
}
