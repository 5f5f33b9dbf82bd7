import { Stack } from '@mantine/core';
import { useDefinitions } from '../api/queries';
import { ClassesTable } from '../insights/classes-table';
import { useChosenWindow } from '../insights/chosen-window';
import { PageTitle } from '../parts/page-title';
import { Empty, Failed, Loading } from '../parts/states';
import { WindowPicker } from '../parts/window-picker';

/** All classes: who is at them now, and how they did in a stretch of time. */
export function DefinitionsPage() {
  const window = useChosenWindow();
  const { data, error, refetch, isPlaceholderData } = useDefinitions(window);
  return (
    <Stack>
      <PageTitle>Insights</PageTitle>
      <WindowPicker chosen={window} read={isPlaceholderData ? undefined : data?.window} />
      {error && <Failed error={error} again={refetch} />}
      {data ? (
        <div aria-busy={isPlaceholderData} style={isPlaceholderData ? { opacity: 0.5 } : undefined}>
          {data.definitions.length === 0 ? (
            <Empty>No workflow class is loaded, and none has left runs.</Empty>
          ) : (
            <ClassesTable classes={data.definitions} window={window} />
          )}
        </div>
      ) : (
        !error && <Loading what="the classes" />
      )}
    </Stack>
  );
}
