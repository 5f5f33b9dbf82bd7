import { useSearch } from '@tanstack/react-router';
import type { Window } from '../api/types';

const DEFAULT_WINDOW: Window = '24h';

/** The window that the address asks for. Whether there is such a one is for the server to say. */
export function useChosenWindow(): Window {
  const { window = DEFAULT_WINDOW } = useSearch({ strict: false });
  return window as Window;
}
