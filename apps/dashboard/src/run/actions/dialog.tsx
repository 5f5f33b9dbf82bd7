import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useRef, useState, type FormEvent } from 'react';
import { ApiError } from '../../api/client';
import { useVerb } from '../../api/queries';
import type { ShownRun, VerbAnswer } from '../../api/types';
import { bodyOf, type Draft, type DraftErrors, type DraftField } from './draft';
import { Fields } from './fields';
import { VERBS } from './verbs';

interface DialogProps {
  readonly run: ShownRun;
  readonly opened: Draft;
  readonly onClose: () => void;
  readonly onAnswer: (answer: VerbAnswer) => void;
}

/** Asks what a verb needs, and carries it out. It stays open where the request was refused as it is. */
export function Dialog({ run, opened, onClose, onAnswer }: DialogProps) {
  const [draft, setDraft] = useState(opened);
  const [errors, setErrors] = useState<DraftErrors>({});
  const [failure, setFailure] = useState<string | null>(null);
  const { mutateAsync, isPending } = useVerb(run.id);
  const isSending = useRef(false);
  const words = VERBS[draft.verb];
  const label = words.label(run);

  const onType = (field: DraftField, value: string) => {
    setDraft((before) => ({ ...before, [field]: value }));
    setErrors((before) => ({ ...before, [field]: undefined }));
  };

  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    // A second click may come before the button is seen to be disabled.
    if (isSending.current) return;
    const read = bodyOf(draft);
    if ('errors' in read) return setErrors(read.errors);
    isSending.current = true;
    setFailure(null);
    try {
      onAnswer(await mutateAsync({ verb: draft.verb, body: read.body }));
    } catch (error) {
      const field = error instanceof ApiError ? error.field : null;
      if (field !== null && field in draft) setErrors({ [field]: (error as Error).message });
      else setFailure(whatFailed(error as Error));
    } finally {
      isSending.current = false;
    }
  };

  return (
    <Modal opened onClose={onClose} title={label.replace(' …', '')} size="lg" returnFocus={false}>
      <form onSubmit={(event) => void onSubmit(event)} noValidate>
        <Stack>
          <Text>{words.says}</Text>
          {run.status !== draft.seen && (
            <Alert color="yellow" title="The run has moved on meanwhile">
              {run.now}
            </Alert>
          )}
          <Fields run={run} draft={draft} errors={errors} onType={onType} />
          <TextInput
            label="Reason (optional)"
            description="Stands on the audit trail, with your name where it is known"
            value={draft.reason}
            error={errors.reason}
            maxLength={1_000}
            onChange={({ currentTarget }) => onType('reason', currentTarget.value)}
          />
          {failure !== null && (
            <Alert color="red" title="The request failed" role="alert">
              {failure}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {words.isDangerous ? 'Leave it' : 'Close'}
            </Button>
            <Button
              type="submit"
              color={words.isDangerous ? 'red' : undefined}
              loading={isPending}
              disabled={draft.verb === 'resume_at' && run.steps.length === 0}
              styles={{ label: { whiteSpace: 'normal' } }}
            >
              {label.replace(/: .*| …/, '')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** Where no answer came, it may have been done all the same. */
function whatFailed(error: Error): string {
  const isOpen = !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
  return isOpen
    ? `${error.message} Whether it was done is not known: look at the run before you try again.`
    : error.message;
}
