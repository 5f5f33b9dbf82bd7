import { Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';

/** The page's name: at its top, and in the browser's tab. */
export function PageTitle({ children }: { children: string }) {
  useDocumentTitle(`${children} · Workflows`);
  return (
    <Title order={1} size="h2" id="page-title" tabIndex={-1} style={{ outline: 'none' }}>
      {children}
    </Title>
  );
}

/** Where the focus goes when what had it is gone. */
export function focusPageTitle(): void {
  document.getElementById('page-title')?.focus();
}
