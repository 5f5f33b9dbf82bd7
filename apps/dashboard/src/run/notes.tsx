import { Alert } from '@mantine/core';
import type { ShownRun } from '../api/types';

/** What one should know of the run's class before acting. */
export function Notes({ run }: { run: ShownRun }) {
  if (!run.definition_loaded) {
    return (
      <Alert color="yellow" title="The class is not loaded in this process">
        What comes next is known where it is loaded. From here the run can be paused, cancelled and sent signals; what
        asks for its next step is refused.
      </Alert>
    );
  }
  if (!run.definition_outdated) return null;
  return (
    <Alert color="yellow" title="The run began on an older list of steps">
      The class has been changed since. The run goes on with the steps that the class has now
      {run.steps.length > 0 && `: ${run.steps.join(', ')}`}.
    </Alert>
  );
}
