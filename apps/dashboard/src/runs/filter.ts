import type { ApiError } from '../api/client';
import type { Search } from '../router';

export const STATES = ['ongoing', 'all', 'ready', 'performing', 'waiting', 'paused', 'finished', 'cancelled'] as const;

/** What is shown when the address does not say: as the API has it, which finds a run by its id or its end whatever its state. */
export function defaultState({ id, ended_from, ended_to }: Search): (typeof STATES)[number] {
  return id || ended_from || ended_to ? 'all' : 'ongoing';
}

/** The names of filters that stand behind "More filters". */
export const MORE = [
  'subject_type',
  'subject_id',
  'id',
  'created_from',
  'created_to',
  'ended_from',
  'ended_to',
] as const;

/** The filters as the address has them: where the page begins is none of them. Names that the API does not know go there too, to be refused. */
export function filterOf(search: Search): Search {
  return Object.fromEntries(Object.entries(search).filter(([name]) => name !== 'cursor' && name !== 'limit'));
}

/** The message for one field, where the API found it wrong. */
export function wrongField(error: ApiError | null, field: string): string | undefined {
  return error !== null && error.field === field ? error.message : undefined;
}
