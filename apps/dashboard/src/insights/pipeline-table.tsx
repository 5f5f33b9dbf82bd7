import { Badge, Group, Text } from '@mantine/core';
import type { PipelineStep } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { PercentilesText } from '../parts/percentiles';
import { RunCountLink } from '../parts/run-count';
import { attemptColumns } from './attempt-columns';

/** The steps of a class in their order: what each waits for, the runs at it now, and how its attempts did. */
export function PipelineTable({ steps }: { steps: readonly PipelineStep[] }) {
  return <DataTable caption="Steps of the class" columns={COLUMNS} rows={steps} idOf={({ step }) => step} />;
}

function at(kind: keyof PipelineStep['now'], header: string): Columns<PipelineStep>[number] {
  return {
    id: kind,
    header,
    meta: { numeric: true },
    cell: ({ row }) => <RunCountLink of={row.original.now[kind]} what={`runs ${kind} at step ${row.original.step}`} />,
  };
}

const COLUMNS: Columns<PipelineStep> = [
  { id: 'step', header: 'Step', meta: { names: true }, cell: ({ row }) => <Step of={row.original} /> },
  at('scheduled', 'Scheduled'),
  at('running', 'Running'),
  at('waiting', 'Waiting'),
  at('paused', 'Paused'),
  ...attemptColumns<PipelineStep>(
    ({ stats }) => stats,
    [
      {
        id: 'pickup',
        header: 'Picked up after',
        cell: ({ row }) => <PercentilesText of={row.original.stats.pickup} />,
      },
    ],
  ),
];

const KINDS: Readonly<Record<NonNullable<PipelineStep['kind']>, string | null>> = {
  step: null,
  fan_out: 'fan-out',
  removed: 'removed',
};

function Step({ of }: { of: PipelineStep }) {
  const kind = of.kind === null ? 'not declared' : KINDS[of.kind];
  return (
    <>
      <Group gap={6}>
        {of.step}
        {kind !== null && (
          <Badge size="sm" variant="default" tt="none">
            {kind}
          </Badge>
        )}
      </Group>
      {of.wait_for !== null && (
        <Text size="sm" c="dimmed" fw={400}>
          Waits for {of.wait_for}. {of.wait_timeout === null ? 'No deadline.' : `Deadline: ${of.wait_timeout}.`}
        </Text>
      )}
    </>
  );
}
