import { Select } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useQueryClient } from '@tanstack/react-query';
import type { AttentionView } from '../api/types';

/** Narrows the page to a class, by the address. It offers those that had a group when all were last read, for which it does not read them. */
export function ClassChoice({ chosen }: { chosen: string | undefined }) {
  const navigate = useNavigate();
  const all = useQueryClient().getQueryData<AttentionView>(['attention', null])?.groups ?? [];
  const names = new Set(all.map((group) => group.class));
  if (chosen !== undefined) names.add(chosen);
  return (
    <Select
      label="Class"
      placeholder="All classes"
      data={[...names].toSorted((one, other) => one.localeCompare(other))}
      value={chosen ?? null}
      onChange={(name) => void navigate({ to: '/attention', search: name === null ? {} : { class: name } })}
      clearable
      searchable
      clearButtonProps={{ 'aria-label': 'Show all classes' }}
      w={{ base: '100%', xs: 320 }}
    />
  );
}
