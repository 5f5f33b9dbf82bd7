import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useGroupAction } from '../api/queries';
import type { AttentionGroup } from '../api/types';
import { counted } from '../parts/numbers';
import { focusPageTitle } from '../parts/page-title';
import { STUCK } from '../parts/stuck';
import { bodyOfGroup } from './group';
import type { GroupAction } from './groups-table';
import { tellOutcome } from './tell-outcome';

/** One press acts on so many runs; the server holds to that. */
const LARGEST_PRESS = 500;
/** The longest reason that is taken. */
const REASON_LENGTH = 1_000;

interface PressDialogProps {
  readonly action: GroupAction;
  readonly group: AttentionGroup;
  readonly opened: boolean;
  readonly close: () => void;
}

/** Asks once more, with the number of runs, before a group is acted on. */
export function PressDialog({ action, group, opened, close }: PressDialogProps) {
  const [why, setWhy] = useState('');
  const act = useGroupAction();
  // The second click of a double click comes before the button is drawn as disabled.
  const isSent = useRef(false);
  const runs = Math.min(group.runs, LARGEST_PRESS);
  const title = `${action === 'resume' ? 'Resume' : 'Cancel'} ${counted(runs, 'run')}`;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (isSent.current) return;
    isSent.current = true;
    act.mutate(
      { action, body: bodyOfGroup(group, why) },
      {
        onSuccess: (result) => {
          tellOutcome(result);
          close();
        },
        onError: () => {
          isSent.current = false;
        },
      },
    );
  };
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <FocusAfter />
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">
            {group.class}, step {group.step}: {STUCK[group.reason].sentence}
            {group.error_class !== null && ` (${group.error_class})`}. {CONSEQUENCES[action]}
          </Text>
          {group.runs > runs && (
            <Text size="sm">
              The group has {counted(group.runs, 'run')}. One press acts on {counted(runs, 'run')} at most, those that
              are stuck for longest first.
            </Text>
          )}
          <TextInput
            label="Reason"
            description="Optional. It is kept on the audit trail of each run."
            value={why}
            maxLength={REASON_LENGTH}
            onChange={({ currentTarget }) => setWhy(currentTarget.value)}
            data-autofocus
          />
          {act.error && (
            <Alert color="red" role="alert" title="There was no answer that it was done">
              {act.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close} disabled={act.isPending}>
              Back
            </Button>
            <Button type="submit" color={action === 'cancel' ? 'red' : undefined} loading={act.isPending}>
              {title}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** When the dialog is out of the page, and Mantine has given the focus back where it could. */
function FocusAfter() {
  useEffect(() => () => void setTimeout(keepFocus), []);
  return null;
}

const CONSEQUENCES: Readonly<Record<GroupAction, string>> = {
  resume: 'Each run goes on from where it stands.',
  cancel: 'A run that is cancelled does not go on; it can be run again as a new one.',
};

/** The button that opened the dialog may be gone with its group: as the dialog closes, or when the groups are read again after that. */
export function keepFocus() {
  if (document.activeElement === null || document.activeElement === document.body) focusPageTitle();
}
