import { Stack, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useState, type ReactNode } from 'react';

/** What is made only when somebody wants to see it. */
export function Disclosure({ label, children }: { label: string; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Stack gap={4}>
      <UnstyledButton fz="sm" w="fit-content" mih={24} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? (
          <IconChevronDown size={14} aria-hidden style={{ verticalAlign: -2 }} />
        ) : (
          <IconChevronRight size={14} aria-hidden style={{ verticalAlign: -2 }} />
        )}{' '}
        {label}
      </UnstyledButton>
      {isOpen && children}
    </Stack>
  );
}
