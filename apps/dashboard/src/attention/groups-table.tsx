import { Button, Code, Group, Spoiler, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useMemo } from 'react';
import type { AttentionGroup } from '../api/types';
import { ClassLink } from '../insights/class-link';
import { DataTable, type Columns } from '../parts/data-table';
import { Moment } from '../parts/moment';
import { counted } from '../parts/numbers';
import { CountLink } from '../parts/run-count';
import { STUCK } from '../parts/stuck';
import { filterOfGroup, idOfGroup } from './group';

export type GroupAction = AttentionGroup['actions'][number];
export type Press = (action: GroupAction, group: AttentionGroup) => void;

const LABELS: Readonly<Record<GroupAction, string>> = { resume: 'Resume', cancel: 'Cancel' };

/** The groups of runs that need a person, with what can be done about each. */
export function GroupsTable({ groups, press }: { groups: readonly AttentionGroup[]; press: Press }) {
  const columns = useMemo(() => columnsOf(press), [press]);
  return (
    <DataTable
      caption="Groups of runs that need attention"
      columns={columns}
      rows={groups}
      idOf={idOfGroup}
      holdsOrder
    />
  );
}

function columnsOf(press: Press): Columns<AttentionGroup> {
  return [
    { header: 'Class and step', meta: { names: true }, cell: ({ row }) => <ClassAndStep group={row.original} /> },
    { header: 'Why', cell: ({ row }) => <Why group={row.original} /> },
    {
      header: 'Runs',
      meta: { numeric: true },
      cell: ({ row: { original: group } }) => (
        <CountLink
          to="/runs"
          search={filterOfGroup(group)}
          count={group.runs}
          what={group.runs === 1 ? 'run' : 'runs'}
        />
      ),
    },
    { header: 'First seen', cell: ({ row }) => <Moment at={row.original.first_seen_at} /> },
    { header: 'Last seen', cell: ({ row }) => <Moment at={row.original.last_seen_at} /> },
    { header: 'Actions', cell: ({ row }) => <Actions group={row.original} press={press} /> },
  ];
}

function ClassAndStep({ group }: { group: AttentionGroup }) {
  return (
    <>
      <ClassLink name={group.class} />
      <Text size="sm" c="dimmed">
        step {group.step}
      </Text>
    </>
  );
}

function Why({ group }: { group: AttentionGroup }) {
  return (
    <Stack gap={4} align="flex-start">
      <Text size="sm">{STUCK[group.reason].sentence}</Text>
      {group.error_class !== null && <Code>{group.error_class}</Code>}
      {group.error_message !== null && (
        <Spoiler maxHeight={64} showLabel="Show all" hideLabel="Show less" fz="sm">
          <Text size="sm" c="dimmed" style={{ whiteSpace: 'pre-wrap' }}>
            {group.error_message}
          </Text>
        </Spoiler>
      )}
    </Stack>
  );
}

function Actions({ group, press }: { group: AttentionGroup; press: Press }) {
  return (
    <Group gap="xs" wrap="nowrap">
      {group.actions.map((action) => (
        <Button
          key={action}
          size="compact-sm"
          variant={action === 'resume' ? 'light' : 'default'}
          onClick={() => press(action, group)}
        >
          {LABELS[action]}
          <VisuallyHidden>
            {' '}
            {counted(group.runs, 'run')} of {group.class} at step {group.step}, {STUCK[group.reason].sentence}
          </VisuallyHidden>
        </Button>
      ))}
    </Group>
  );
}
