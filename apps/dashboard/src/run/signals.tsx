import { Text } from '@mantine/core';
import type { ShownRun, SignalView } from '../api/types';
import { DataTable, type Columns } from '../parts/data-table';
import { Disclosure } from '../parts/disclosure';
import { JsonTree } from '../parts/json-tree';
import { Moment } from '../parts/moment';
import { Section } from '../parts/section';

interface ShownSignal extends SignalView {
  readonly takenBy: string;
}

const COLUMNS: Columns<ShownSignal> = [
  { id: 'name', header: 'Signal', cell: ({ row }) => row.original.name, meta: { names: true } },
  { id: 'status', header: 'Status', cell: ({ row }) => row.original.status },
  { id: 'created', header: 'Received', cell: ({ row }) => <Moment at={row.original.created_at} /> },
  { id: 'taken', header: 'Taken by', cell: ({ row }) => row.original.takenBy },
  {
    id: 'key',
    header: 'Idempotency key',
    cell: ({ row }) => row.original.idempotency_key ?? '–',
  },
];

export function Signals({ run: { signals, attempts } }: { run: ShownRun }) {
  const steps = new Map(attempts.map(({ id, step, attempt }) => [id, `${step}, attempt ${attempt}`]));
  const rows = signals.map((signal) => ({
    ...signal,
    takenBy: signal.claimed_by_step_id === null ? '–' : (steps.get(signal.claimed_by_step_id) ?? 'an older attempt'),
  }));
  return (
    <Section title="Signals">
      {rows.length === 0 ? (
        <Text c="dimmed">No signal was sent to this run.</Text>
      ) : (
        <DataTable
          caption="Signals, newest first"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          detail={({ name, payload }) => (
            <Disclosure label="Payload">
              <JsonTree value={payload} label={`Payload of signal ${name}`} />
            </Disclosure>
          )}
        />
      )}
    </Section>
  );
}
