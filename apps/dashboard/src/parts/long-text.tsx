import { Button, Text, type TextProps } from '@mantine/core';
import { useState } from 'react';
import { count } from './numbers';

const SHOWN = 600;

/** A text of any length: its beginning, and the rest when it is asked for. */
export function LongText({ children, ...style }: { children: string } & TextProps) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && children.length > SHOWN;
  return (
    <Text component="span" style={{ whiteSpace: 'pre-wrap' }} {...style}>
      {isCut ? `${children.slice(0, SHOWN)}…` : children}
      {isCut && (
        <Button variant="subtle" size="compact-xs" ml={4} onClick={() => setWhole(true)}>
          Show all {count(children.length)} characters
        </Button>
      )}
    </Text>
  );
}
