import { Button, Collapse, Group, NativeSelect, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { ApiError } from '../api/client';
import { ZONE } from '../parts/local-time';
import { STUCK } from '../parts/stuck';
import type { Search } from '../router';
import { defaultState, MORE, STATES, wrongField } from './filter';
import { ClassField, MomentField, TextField } from './filter-fields';

interface FilterBarProps {
  readonly filter: Search;
  readonly onFilter: (filter: Search) => void;
  /** What the API said of the filter. */
  readonly error: ApiError | null;
}

const STUCK_OPTIONS = [
  { value: '', label: 'any, or none' },
  ...Object.entries(STUCK).map(([value, { sentence }]) => ({ value, label: sentence })),
];

/** Which runs are listed. All of it stands in the address. */
export function FilterBar({ filter, onFilter, error }: FilterBarProps) {
  const isMoreGiven = MORE.some((name) => filter[name]);
  const [isOpen, setOpen] = useState(isMoreGiven);
  const field = (name: string) => ({
    value: filter[name] ?? '',
    onCommit: (value: string) => onFilter({ ...filter, [name]: value }),
    error: wrongField(error, name),
  });
  return (
    <Paper component="search" withBorder p="sm" aria-label="Filter runs">
      <Stack gap="xs">
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm" verticalSpacing="xs">
          <NativeSelect
            label="State"
            data={STATES}
            value={filter.state ?? defaultState(filter)}
            error={wrongField(error, 'state')}
            onChange={({ currentTarget }) => onFilter({ ...filter, state: currentTarget.value })}
          />
          <ClassField label="Class" {...field('class')} />
          <TextField label="Step" {...field('step')} />
          <TextField label="Error class" {...field('error_class')} />
          <NativeSelect
            label="Needs attention"
            data={STUCK_OPTIONS}
            value={filter.stuck_reason ?? ''}
            error={wrongField(error, 'stuck_reason')}
            onChange={({ currentTarget }) => onFilter({ ...filter, stuck_reason: currentTarget.value })}
          />
          <Group gap={4} align="end">
            <Button
              variant="default"
              size="xs"
              px="xs"
              aria-expanded={isOpen}
              aria-controls="more-filters"
              onClick={() => setOpen(!isOpen)}
            >
              {isOpen ? 'Fewer filters' : 'More filters'}
            </Button>
            {Object.keys(filter).length > 0 && (
              <Button variant="subtle" size="xs" px="xs" onClick={() => onFilter({})}>
                Clear all filters
              </Button>
            )}
          </Group>
        </SimpleGrid>
        <Collapse expanded={isOpen} id="more-filters">
          <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm" verticalSpacing="xs">
            <TextField label="Subject type" {...field('subject_type')} />
            <TextField label="Subject id" {...field('subject_id')} />
            <TextField label="Run id" {...field('id')} />
            <Text size="sm" c="dimmed" style={{ alignSelf: 'end' }}>
              Times are {ZONE}. A range includes its first moment, not its last.
            </Text>
            <MomentField label="Created from" {...field('created_from')} />
            <MomentField label="Created before" {...field('created_to')} />
            <MomentField label="Ended from" {...field('ended_from')} />
            <MomentField label="Ended before" {...field('ended_to')} />
          </SimpleGrid>
        </Collapse>
      </Stack>
    </Paper>
  );
}
