import { NativeSelect, Text, Textarea, TextInput } from '@mantine/core';
import type { ShownRun } from '../../api/types';
import { ZONE } from '../../parts/local-time';
import type { Draft, DraftErrors, DraftField } from './draft';

interface FieldsProps {
  readonly run: ShownRun;
  readonly draft: Draft;
  readonly errors: DraftErrors;
  readonly onType: (field: DraftField, value: string) => void;
}

/** What the verb asks for beside a reason. */
export function Fields({ run, draft, errors, onType }: FieldsProps) {
  if (draft.verb === 'resume_at') {
    if (run.steps.length === 0)
      return <Text>The steps are not known here: the class is not loaded in this process.</Text>;
    return (
      <NativeSelect
        label="Step"
        data={run.steps}
        value={draft.step}
        error={errors.step}
        data-autofocus
        onChange={({ currentTarget }) => onType('step', currentTarget.value)}
      />
    );
  }
  if (draft.verb === 'reschedule') {
    return (
      <TextInput
        type="datetime-local"
        label={`Due at (${ZONE})`}
        value={draft.at}
        error={errors.at}
        data-autofocus
        onChange={({ currentTarget }) => onType('at', currentTarget.value)}
      />
    );
  }
  if (draft.verb !== 'signal') return null;
  return (
    <>
      <TextInput
        label="Signal name"
        value={draft.name}
        error={errors.name}
        maxLength={255}
        data-autofocus
        onChange={({ currentTarget }) => onType('name', currentTarget.value)}
      />
      <Textarea
        label="Payload"
        description="A JSON object"
        value={draft.payload}
        error={errors.payload}
        autosize
        minRows={4}
        maxRows={14}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        onChange={({ currentTarget }) => onType('payload', currentTarget.value)}
      />
    </>
  );
}
