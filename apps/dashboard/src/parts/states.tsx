import { Alert, Button, Center, Loader, Stack, Text } from '@mantine/core';

/** The first answer is on its way. */
export function Loading({ what }: { what: string }) {
  return (
    <Center mih={200} role="status">
      <Stack align="center" gap="xs">
        <Loader aria-hidden />
        <Text c="dimmed">Reading {what} …</Text>
      </Stack>
    </Center>
  );
}

/** There was no answer; what was read before may stand below. */
export function Failed({ error, again }: { error: Error; again: () => unknown }) {
  return (
    <Alert color="red" title="This could not be read" role="alert">
      <Stack align="flex-start" gap="xs">
        <Text size="sm">{error.message}</Text>
        <Button size="xs" variant="default" onClick={() => void again()}>
          Try again
        </Button>
      </Stack>
    </Alert>
  );
}

export function Empty({ children }: { children: React.ReactNode }) {
  return (
    <Center mih={160}>
      <Text c="dimmed" ta="center">
        {children}
      </Text>
    </Center>
  );
}
