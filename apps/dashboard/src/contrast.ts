import type { CSSVariablesResolver } from '@mantine/core';

/** Mantine's own shades where they are too faint for WCAG AA: text on white, on its tinted badges, and on the dark page. */
export const contrast: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-7)',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    '--mantine-color-red-text': 'var(--mantine-color-red-9)',
    '--mantine-color-red-light-color': '#b82626',
    '--mantine-color-orange-light-color': '#ad390c',
    '--mantine-color-yellow-light-color': '#9d5100',
    '--mantine-color-green-light-color': '#227031',
    '--mantine-color-teal-light-color': '#076f4a',
    '--mantine-color-cyan-light-color': '#0a6a7c',
  },
  dark: {
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
  },
});
