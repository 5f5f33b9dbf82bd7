import { notifications } from '@mantine/notifications';
import type { GroupResult } from '../api/types';

/** Says what a press on a group came to, in the server's words. What is not simply done stays until it is closed. */
export function tellOutcome({ ok, reason, refused, left }: GroupResult): void {
  const complete = ok && refused === 0 && left === 0;
  notifications.show({
    color: complete ? 'green' : ok ? 'yellow' : 'red',
    title: complete ? 'Done' : ok ? 'Done in part' : 'Nothing was done',
    message: reason,
    autoClose: complete ? 8_000 : false,
  });
}
