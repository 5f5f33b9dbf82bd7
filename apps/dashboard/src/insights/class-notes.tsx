import { Text } from '@mantine/core';
import type { DefinitionSummary } from '../api/types';
import { counted } from '../parts/numbers';

/** What is out of the ordinary with a class: it is not loaded, or has runs on steps that were removed. */
export function ClassNotes({ of }: { of: DefinitionSummary }) {
  return (
    <>
      {of.note !== null && (
        <Text size="sm" c="dimmed" fw={400}>
          {of.note}
        </Text>
      )}
      {of.on_gravestones !== null && of.on_gravestones > 0 && (
        <Text size="sm" c="dimmed" fw={400}>
          {counted(of.on_gravestones, 'ongoing run stands', 'ongoing runs stand')} on a removed step.
        </Text>
      )}
    </>
  );
}
