import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type InfiniteData,
} from '@tanstack/react-query';
import { ApiError, get, post } from './client';
import type {
  AttentionView,
  DefinitionListView,
  DefinitionView,
  EventList,
  GroupResult,
  ListedRun,
  ShownRun,
  SummaryView,
  Verb,
  VerbAnswer,
  Window,
} from './types';

/** How often what is shown is read again, while the page is visible. Milliseconds. */
const LIVE_MS = 5_000;
const SLOW_MS = 30_000;

/** Reading again does not help a request that was refused. */
export const retries = (failures: number, error: Error): boolean =>
  failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500);

export interface RunPage {
  readonly runs: readonly ListedRun[];
  readonly next_cursor: string | null;
}

export type RunFilterQuery = Readonly<Record<string, string>>;

/** One page of the list, by the API's own parameters: whatever was looked at before, only what is in view is read again. */
export function useRuns(filter: RunFilterQuery, cursor: string) {
  return useQuery({
    queryKey: ['runs', filter, cursor],
    queryFn: ({ signal }) => get<RunPage>('runs', { ...filter, limit: 50, cursor }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });
}

export function useRun(id: string) {
  return useQuery({
    queryKey: ['run', id],
    queryFn: ({ signal }) => get<ShownRun>(`runs/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: ({ state }) => (state.data?.ended_at ? SLOW_MS : LIVE_MS / 2),
  });
}

/** The trail, page by page. It is only added to: a page that has one after it is not read again. */
export function useEvents(id: string, isOngoing: boolean) {
  const client = useQueryClient();
  const queryKey = ['run', id, 'events'];
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      const known = client.getQueryData<InfiniteData<EventList, string>>(queryKey);
      const full = known?.pages[known.pageParams.indexOf(pageParam)];
      if (full && full.next_cursor !== null) return full;
      const page = { limit: 200, ...(pageParam && { cursor: pageParam }) };
      return get<EventList>(`runs/${encodeURIComponent(id)}/events`, page, signal);
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: isOngoing ? LIVE_MS : SLOW_MS,
  });
}

export function useAttention(workflowClass: string | undefined) {
  return useQuery({
    queryKey: ['attention', workflowClass ?? null],
    queryFn: ({ signal }) => get<AttentionView>('attention', { class: workflowClass }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS * 2,
  });
}

export function useSummary() {
  return useQuery({
    queryKey: ['summary'],
    queryFn: ({ signal }) => get<SummaryView>('summary', {}, signal),
    refetchInterval: LIVE_MS * 2,
  });
}

export function useDefinitions(window: Window, { enabled = true } = {}) {
  return useQuery({
    enabled,
    queryKey: ['definitions', window],
    queryFn: ({ signal }) => get<DefinitionListView>('definitions', { window }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: SLOW_MS,
  });
}

export function useDefinition(name: string, window: Window) {
  return useQuery({
    queryKey: ['definition', name, window],
    queryFn: ({ signal }) => get<DefinitionView>(`definitions/${encodeURIComponent(name)}`, { window }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: SLOW_MS,
  });
}

/** A verb on a run. Its answer is the run as it is now. */
export function useVerb(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ verb, body }: { verb: Verb; body: object }) =>
      post<VerbAnswer>(`runs/${encodeURIComponent(id)}/${verb.replaceAll('_', '-')}`, body),
    retry: false,
    onSuccess: ({ run }) => client.setQueryData(['run', id], run),
    // Nobody waits for them: the answer has the run.
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ['run', id] });
      for (const key of ['runs', 'attention', 'summary']) void client.invalidateQueries({ queryKey: [key] });
    },
  });
}

/** A press on a group of stuck runs. */
export function useGroupAction() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ action, body }: { action: 'resume' | 'cancel'; body: object }) =>
      post<GroupResult>(`attention/${action}`, body),
    retry: false,
    onSettled: () => client.invalidateQueries(),
  });
}
