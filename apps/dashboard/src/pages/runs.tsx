import { Button, Stack, Title, VisuallyHidden } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef } from 'react';
import { ApiError } from '../api/client';
import { useRuns } from '../api/queries';
import { counted } from '../parts/numbers';
import { Empty, Failed, Loading } from '../parts/states';
import type { Search } from '../router';
import { filterOf } from '../runs/filter';
import { FilterBar } from '../runs/filter-bar';
import { Pager } from '../runs/pager';
import { RunsTable } from '../runs/runs-table';
import { useSteadyRows } from '../runs/steady-rows';

/** The list of runs: which ones, and where in it, stands in the address. */
export function RunsPage() {
  useDocumentTitle('Runs · Workflows');
  const search: Search = useSearch({ from: '/runs' });
  const navigate = useNavigate();
  const filter = filterOf(search);
  const cursor = search.cursor ?? '';
  const { data, error, refetch, isPlaceholderData } = useRuns(filter, cursor);
  const list = useRef<HTMLDivElement>(null);
  const shown = isPlaceholderData || error ? undefined : data;
  const key = JSON.stringify([filter, cursor]);
  const { rows, of, news, showNews } = useSteadyRows(shown, key, list);
  const isShown = rows.length > 0 && (of === key || isPlaceholderData);
  const goTo = (next: Search) => void navigate({ to: '/runs', search: next });
  const isFiltered = Object.keys(filter).length > 0;

  return (
    <Stack>
      <Title order={1} size="h2">
        Runs
      </Title>
      <FilterBar filter={filter} onFilter={goTo} error={error instanceof ApiError ? error : null} />
      {error && <Failed error={error} again={refetch} />}
      {data === undefined && !error && <Loading what="runs" />}
      {shown && shown.runs.length === 0 && !isShown && (
        <Empty>
          {cursor !== ''
            ? 'There are no older runs.'
            : isFiltered
              ? 'No run fits these filters.'
              : 'No run is ongoing. Choose the state "all" to see those that have ended.'}
        </Empty>
      )}
      <div ref={list}>
        <VisuallyHidden aria-live="polite">{news > 0 && `${counted(news, 'new run')} to show`}</VisuallyHidden>
        {news > 0 && (
          <Button fullWidth variant="light" size="xs" mb="xs" onClick={showNews}>
            {counted(news, 'new run')}: show
          </Button>
        )}
        {isShown && <RunsTable rows={rows} isBusy={isPlaceholderData} />}
      </div>
      {data && <Pager cursor={cursor} next={data.next_cursor} onTurn={(to) => goTo({ ...filter, cursor: to })} />}
    </Stack>
  );
}
