import {
  ActionIcon,
  Anchor,
  AppShell,
  Badge,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { IconMoon, IconSun } from '@tabler/icons-react';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useSummary } from './api/queries';
import { Logo } from './logo';
import { count, counted } from './parts/numbers';
import classes from './shell.module.css';

const PAGES = [
  ['/runs', 'Runs'],
  ['/attention', 'Needs attention'],
  ['/definitions', 'Insights'],
  ['/summary', 'Summary'],
] as const;

/** What is around every page. */
export function Shell() {
  const stuck = useSummary().data?.stuck ?? 0;
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useFocusInPage();
  return (
    <AppShell header={{ height: { base: 88, sm: 52 } }} padding="md">
      <AppShell.Header px={{ base: 'xs', sm: 'md' }}>
        <Anchor href="#main" className="skip-link" onClick={skipToMain}>
          Skip to the content
        </Anchor>
        <div className={classes.bar}>
          <div className={classes.name}>
            <Logo />
            <Text fw={700}>Workflows</Text>
          </div>
          <nav aria-label="Pages" className={classes.pages}>
            {PAGES.map(([to, name]) => (
              <Anchor
                key={to}
                component={Link}
                to={to}
                inherit
                c={path.startsWith(to) ? undefined : 'inherit'}
                fw={path.startsWith(to) ? 600 : 400}
                aria-current={path.startsWith(to) ? 'page' : undefined}
              >
                {to === '/attention' ? <AttentionName /> : name}
                {to === '/attention' && stuck > 0 && (
                  <Badge ml={6} color="red" size="sm" aria-label={counted(stuck, 'run')}>
                    {count(stuck)}
                  </Badge>
                )}
              </Anchor>
            ))}
          </nav>
          <ColorScheme />
        </div>
      </AppShell.Header>
      <AppShell.Main id="main" tabIndex={-1}>
        <div className={classes.page}>
          <Outlet />
        </div>
      </AppShell.Main>
    </AppShell>
  );
}

/** On a phone there is no room for the whole name. */
function AttentionName() {
  return (
    <>
      <Text span inherit visibleFrom="sm">
        Needs attention
      </Text>
      <Text span inherit hiddenFrom="sm">
        Attention
      </Text>
    </>
  );
}

/** On another page the link is gone that led to it: whoever goes by keys, or hears the page, is then at its beginning. */
function useFocusInPage() {
  const shown = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(shown);
  useEffect(() => {
    const isAnother = before.current !== undefined && before.current !== shown;
    before.current = shown;
    if (isAnother && document.activeElement === document.body) {
      document.getElementById('main')?.focus({ preventScroll: true });
    }
  }, [shown]);
}

/** The address's hash is the router's, so the link moves the focus by itself. */
function skipToMain(event: { preventDefault(): void }) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function ColorScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  return (
    <ActionIcon
      variant="default"
      aria-label={dark ? 'Light colours' : 'Dark colours'}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {dark ? <IconSun size={18} aria-hidden /> : <IconMoon size={18} aria-hidden />}
    </ActionIcon>
  );
}
