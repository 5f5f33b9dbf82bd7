import { Group } from '@mantine/core';
import type { DefinitionView } from '../api/types';
import { Figure } from '../parts/figure';
import { FewSamples, percentileText } from '../parts/percentiles';
import { AttentionCountLink, RunCountLink } from '../parts/run-count';

/** A class in numbers: its runs now, and those of the window. */
export function ClassFigures({ of }: { of: DefinitionView }) {
  const { end_to_end: took } = of;
  return (
    <Group component="dl" m={0} gap="sm" align="stretch">
      <Figure name="Ongoing">
        <RunCountLink of={of.ongoing} what="ongoing runs" />
      </Figure>
      <Figure name="Paused">
        <RunCountLink of={of.paused} what="paused runs" />
      </Figure>
      <Figure name="Need attention">
        <AttentionCountLink of={of.need_attention} />
      </Figure>
      <Figure name="Started in the window">
        <RunCountLink of={of.started} what="runs started" />
      </Figure>
      <Figure name="Finished in the window">
        <RunCountLink of={of.finished} what="runs finished" />
      </Figure>
      <Figure name="Cancelled in the window">
        <RunCountLink of={of.cancelled} what="runs cancelled" />
      </Figure>
      <Figure name="From start to finish: p50, p95, p99">
        {(['p50', 'p95', 'p99'] as const).map((name) => percentileText(took, name)).join(' · ')}
        <FewSamples of={took} />
      </Figure>
    </Group>
  );
}
