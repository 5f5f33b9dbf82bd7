import { ActionIcon } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';

interface ZoomButtonProps {
  /** What it does: heard, and seen on hover. */
  readonly name: string;
  readonly Icon: Icon;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

/** One of the buttons for those who have neither the keys nor a wheel. */
export function ZoomButton({ name, Icon: Picture, disabled, onClick }: ZoomButtonProps) {
  return (
    <ActionIcon variant="default" size="md" aria-label={name} title={name} disabled={disabled} onClick={onClick}>
      <Picture size={16} aria-hidden />
    </ActionIcon>
  );
}
