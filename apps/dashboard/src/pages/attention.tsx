import { Group, Stack, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { useAttention } from '../api/queries';
import type { AttentionGroup, AttentionView } from '../api/types';
import { ClassChoice } from '../attention/class-choice';
import { GroupsTable, type GroupAction, type Press } from '../attention/groups-table';
import { keepFocus, PressDialog } from '../attention/press-dialog';
import { counted, count } from '../parts/numbers';
import { PageTitle } from '../parts/page-title';
import { Empty, Failed, Loading } from '../parts/states';

/** Runs that need a person, in groups that mostly have one cause each. */
export function AttentionPage() {
  const { class: chosen } = useSearch({ from: '/attention' });
  const { data, error, refetch, isPlaceholderData } = useAttention(chosen);
  return (
    <Stack>
      <Group justify="space-between" align="end">
        <PageTitle>Needs attention</PageTitle>
        <ClassChoice chosen={chosen} />
      </Group>
      {error && <Failed error={error} again={refetch} />}
      {data && !isPlaceholderData ? <Groups view={data} chosen={chosen} /> : !error && <Loading what="what is stuck" />}
    </Stack>
  );
}

function Groups({ view, chosen }: { view: AttentionView; chosen: string | undefined }) {
  const { groups, groups_total: groupsTotal, runs_total: runsTotal } = view;
  const [pressed, setPressed] = useState<{ action: GroupAction; group: AttentionGroup; time: number } | null>(null);
  const [opened, setOpened] = useState(false);
  const press = useCallback<Press>((action, group) => {
    setPressed((before) => ({ action, group, time: (before?.time ?? 0) + 1 }));
    setOpened(true);
  }, []);
  useEffect(() => {
    if (pressed && !opened) keepFocus();
  }, [groups, pressed, opened]);
  return (
    <>
      {groupsTotal === 0 ? (
        <Empty>No run{chosen === undefined ? '' : ` of ${chosen}`} needs anybody. All is well.</Empty>
      ) : (
        <>
          <Text>
            {counted(runsTotal, 'run needs', 'runs need')} attention, in {counted(groupsTotal, 'group')}.
            {groupsTotal > groups.length && ` Shown are the largest ${count(groups.length)} of them.`}
          </Text>
          <GroupsTable groups={groups} press={press} />
        </>
      )}
      {pressed && (
        // Each time it asks anew, without what was typed before.
        <PressDialog
          key={pressed.time}
          action={pressed.action}
          group={pressed.group}
          opened={opened}
          close={() => setOpened(false)}
        />
      )}
    </>
  );
}
