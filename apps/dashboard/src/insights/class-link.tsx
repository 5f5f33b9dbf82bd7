import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** A class's name, which leads to its page; the window that is looked at stays. */
export function ClassLink({ name, window }: { name: string; window?: string }) {
  return (
    <Anchor
      component={Link}
      to="/definitions/$name"
      params={{ name } as never}
      search={(window === undefined ? {} : { window }) as never}
      inherit
    >
      {name}
    </Anchor>
  );
}
