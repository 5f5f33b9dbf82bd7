import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState, type RefObject } from 'react';
import type { ShownRun, Verb, VerbAnswer } from '../../api/types';
import { Dialog } from './dialog';
import { openDraft, type Draft } from './draft';
import { VERBS } from './verbs';

interface ActionsProps {
  readonly run: ShownRun;
  /** Has the focus where the button is gone that had it. */
  readonly heading: RefObject<HTMLElement | null>;
}

/** What may be done with the run as it is now: what the API says, and nothing else. */
export function Actions({ run, heading }: ActionsProps) {
  const [draft, setDraft] = useState<Draft | null>(null);
  const pressed = useRef<HTMLButtonElement>(null);
  const navigate = useNavigate();

  const close = () => {
    setDraft(null);
    // Once the dialog has let go of it.
    setTimeout(() => (pressed.current?.isConnected ? pressed.current : heading.current)?.focus());
  };

  const onAnswer = (answer: VerbAnswer) => {
    tell(answer);
    close();
    if (answer.new_run_id) void navigate({ to: '/runs/$id', params: { id: answer.new_run_id }, search: {} });
  };

  return (
    <>
      <Group gap="xs" role="group" aria-label="Actions">
        {ordered(run.available_actions).map((verb) => (
          <Button
            key={verb}
            size="sm"
            h="auto"
            mih={36}
            py={4}
            variant={verb === 'resume' ? 'filled' : 'default'}
            c={isDangerous(verb) ? 'var(--mantine-color-red-text)' : undefined}
            styles={{ label: { whiteSpace: 'normal' } }}
            onClick={(event) => {
              pressed.current = event.currentTarget;
              setDraft(openDraft(verb, run));
            }}
          >
            {VERBS[verb].label(run)}
          </Button>
        ))}
      </Group>
      {draft && <Dialog key={draft.key} run={run} opened={draft} onClose={close} onAnswer={onAnswer} />}
    </>
  );
}

/** What cannot be undone comes last, away from what is pressed every day. */
function ordered(verbs: readonly Verb[]): readonly Verb[] {
  return verbs.toSorted((one, other) => Number(isDangerous(one)) - Number(isDangerous(other)));
}

const isDangerous = (verb: Verb): boolean => VERBS[verb].isDangerous === true;

/** What became of it, done or not. */
function tell({ ok, reason, run }: VerbAnswer) {
  notifications.show(
    ok
      ? { color: 'green', title: reason, message: run.now }
      : { color: 'orange', title: 'Nothing was done', message: reason, autoClose: 20_000 },
  );
}
