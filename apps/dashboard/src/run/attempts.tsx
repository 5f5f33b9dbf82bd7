import { Group, Stack, Text } from '@mantine/core';
import type { AttemptView, ShownRun } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { Disclosure } from '../parts/disclosure';
import { JsonTree } from '../parts/json-tree';
import { Moment } from '../parts/moment';
import { count } from '../parts/numbers';
import { Section } from '../parts/section';
import { AttemptError } from './attempt-error';
import { BatchProgress } from './batch-progress';
import { outcomeOf } from './timeline/outcome-colors';

const COLUMNS: Columns<AttemptView> = [
  {
    id: 'step',
    header: 'Step, attempt',
    cell: ({ row }) => `${row.original.step}, ${row.original.attempt}`,
    meta: { names: true },
  },
  { id: 'outcome', header: 'Outcome', cell: ({ row }) => <Outcome of={row.original} /> },
  {
    id: 'started',
    header: 'Started',
    cell: ({ row }) => <Moment at={row.original.started_at} />,
  },
  { id: 'durations', header: 'How long', cell: ({ row }) => row.original.durations || '–' },
  {
    id: 'worker',
    header: 'Worker',
    cell: ({ row }) => row.original.worker ?? '–',
  },
  {
    id: 'revision',
    header: 'Revision',
    cell: ({ row }) => row.original.app_revision ?? '–',
  },
];

/** In the colour that it has in the timeline. */
function Outcome({ of }: { of: AttemptView }) {
  return (
    <Group gap={6} wrap="nowrap" align="baseline">
      <span className="timeline-dot" style={{ background: outcomeOf(of).color }} aria-hidden />
      <span>{cameTo(of)}</span>
    </Group>
  );
}

/** Its status, or what its end did to the run. */
function cameTo(attempt: AttemptView): string {
  if (attempt.outcome !== null) return outcomeOf(attempt).word;
  if (attempt.status === 'waiting' && attempt.wait_for !== null) return `waiting for signal "${attempt.wait_for}"`;
  return attempt.status === 'in_progress' ? 'at work' : attempt.status;
}

const idOf = ({ id }: AttemptView) => id;

/** What an attempt has beside its line; null: nothing. */
function detailOf(attempt: AttemptView) {
  const { error, output, batch } = attempt;
  if ((error ?? output ?? batch) === null) return null;
  return (
    <Stack gap="xs">
      {batch && <BatchProgress batch={batch} />}
      {error && <AttemptError error={error} />}
      {output !== null && (
        <Disclosure label="Output">
          <JsonTree value={output} label={`Output of step ${attempt.step}, attempt ${attempt.attempt}`} />
        </Disclosure>
      )}
    </Stack>
  );
}

export function Attempts({ run: { attempts, attempts_total } }: { run: ShownRun }) {
  const isCut = attempts.length < attempts_total;
  const aside = isCut && (
    <Text size="sm" c="dimmed">
      The newest {count(attempts.length)} of {count(attempts_total)}. The audit trail tells of all.
    </Text>
  );
  return (
    <Section title="Attempts" aside={aside}>
      {attempts.length === 0 ? (
        <Text c="dimmed">The run has no attempts.</Text>
      ) : (
        <DataTable caption="Attempts, newest first" columns={COLUMNS} rows={attempts} idOf={idOf} detail={detailOf} />
      )}
    </Section>
  );
}
