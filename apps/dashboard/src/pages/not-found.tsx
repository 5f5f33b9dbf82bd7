import { Anchor, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';

export function NotFound() {
  return (
    <Stack>
      <Title order={1} size="h2">
        There is no such page
      </Title>
      <Text>
        The address may be cut.{' '}
        <Anchor component={Link} to="/runs">
          Runs
        </Anchor>{' '}
        are here.
      </Text>
    </Stack>
  );
}
