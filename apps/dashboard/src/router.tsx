import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { NotFound } from './pages/not-found';
import { Shell } from './shell';

/** What stands behind `?` in the address: text, as it was typed. What is blank is not there. */
export type Search = Readonly<Record<string, string>>;

function parseSearch(text: string): Search {
  return Object.fromEntries([...new URLSearchParams(text)].filter(([, value]) => value !== ''));
}

function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

const asIs = (search: Record<string, unknown>): Search => search as Search;

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const page = { getParentRoute: () => root, validateSearch: asIs } as const;

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/runs', search: {}, replace: true });
  },
});
const runs = createRoute({
  ...page,
  path: '/runs',
  component: lazyRouteComponent(() => import('./pages/runs'), 'RunsPage'),
});
const run = createRoute({
  ...page,
  path: '/runs/$id',
  component: lazyRouteComponent(() => import('./pages/run'), 'RunPage'),
});
const attention = createRoute({
  ...page,
  path: '/attention',
  component: lazyRouteComponent(() => import('./pages/attention'), 'AttentionPage'),
});
const definitions = createRoute({
  ...page,
  path: '/definitions',
  component: lazyRouteComponent(() => import('./pages/definitions'), 'DefinitionsPage'),
});
const definition = createRoute({
  ...page,
  path: '/definitions/$name',
  component: lazyRouteComponent(() => import('./pages/definition'), 'DefinitionPage'),
});
const summary = createRoute({
  ...page,
  path: '/summary',
  component: lazyRouteComponent(() => import('./pages/summary'), 'SummaryPage'),
});

/** In the hash: the page works at any path, and behind proxies that strip a part of it. */
export const router = createRouter({
  routeTree: root.addChildren([home, runs, run, attention, definitions, definition, summary]),
  history: createHashHistory(),
  parseSearch,
  stringifySearch,
  defaultPreload: false,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
