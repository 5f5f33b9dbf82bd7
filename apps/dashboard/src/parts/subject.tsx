import { Anchor, Text } from '@mantine/core';
import type { SubjectView } from '../api/types';

/** What a run is about; a link to its page where the application has one. */
export function Subject({ subject, url }: { subject: SubjectView | null; url: string | null }) {
  if (subject === null) {
    return (
      <Text span inherit c="dimmed">
        no subject
      </Text>
    );
  }
  const name = `${subject.type} ${subject.id}`;
  if (url === null) return name;
  return (
    <Anchor inherit href={url} rel="noreferrer noopener">
      {name}
    </Anchor>
  );
}
