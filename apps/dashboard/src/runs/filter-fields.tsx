import { Autocomplete, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useDefinitions } from '../api/queries';
import { fromLocalInput, toLocalInput } from '../parts/local-time';

interface FieldProps {
  readonly label: string;
  /** As the address has it; empty: not given. */
  readonly value: string;
  readonly onCommit: (value: string) => void;
  readonly error?: string | undefined;
}

/** What is typed counts when it is complete: on Enter, or when the field is left. */
function useDraft(value: string, onCommit: (value: string) => void) {
  const [draft, setDraft] = useState(value);
  useEffect(() => setDraft(value), [value]);
  const commit = (typed = draft) => {
    if (typed !== value) onCommit(typed);
  };
  const onKeyDown = (event: { key: string }) => {
    if (event.key === 'Enter') commit();
  };
  return { draft, setDraft, commit, onKeyDown };
}

export function TextField({ label, value, onCommit, error }: FieldProps) {
  const { draft, setDraft, commit, onKeyDown } = useDraft(value, (typed) => onCommit(typed.trim()));
  return (
    <TextInput
      label={label}
      placeholder="any"
      value={draft}
      error={error}
      maxLength={255}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={() => commit()}
      onKeyDown={onKeyDown}
    />
  );
}

/** A moment in the reader's zone. The address keeps the moment itself, so that it means the same to everybody. */
export function MomentField({ label, value, onCommit, error }: FieldProps) {
  const { draft, setDraft, commit, onKeyDown } = useDraft(toLocalInput(value), (typed) =>
    onCommit(fromLocalInput(typed)),
  );
  return (
    <TextInput
      type="datetime-local"
      step={1}
      label={label}
      value={draft}
      error={error}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={() => commit()}
      onKeyDown={onKeyDown}
    />
  );
}

/** The classes are asked for once somebody means to choose one. */
export function ClassField({ label, value, onCommit, error }: FieldProps) {
  const [isWanted, setWanted] = useState(false);
  const classes = useDefinitions('24h', { enabled: isWanted }).data?.definitions.map((one) => one.class) ?? [];
  const { draft, setDraft, commit, onKeyDown } = useDraft(value, (typed) => onCommit(typed.trim()));
  return (
    <Autocomplete
      label={label}
      placeholder="any"
      value={draft}
      error={error}
      data={classes}
      limit={50}
      maxLength={255}
      onChange={setDraft}
      onOptionSubmit={(chosen) => commit(chosen)}
      onFocus={() => setWanted(true)}
      onBlur={() => commit()}
      onKeyDown={onKeyDown}
    />
  );
}
