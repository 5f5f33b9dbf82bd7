import { Group, Text } from '@mantine/core';
import { useElementSize, useMergedRef } from '@mantine/hooks';
import { IconArrowsHorizontal, IconChevronLeft, IconChevronRight, IconZoomIn, IconZoomOut } from '@tabler/icons-react';
import { useId, useLayoutEffect, useMemo, useRef } from 'react';
import type { ShownRun } from '../../api/types';
import { absolute } from '../../parts/moment-text';
import { count, counted } from '../../parts/numbers';
import { Section } from '../../parts/section';
import { Canvas } from './canvas';
import { useGestures } from './gestures';
import { Legend } from './legend';
import { drawingOf } from './spans';
import './timeline.css';
import { useZoom } from './zoom';
import { ZoomButton } from './zoom-button';

const PIXELS_A_TICK = 130;

/** When the run did what: a bar an attempt. */
export function Timeline({ run }: { run: ShownRun }) {
  const drawing = useMemo(() => drawingOf(run), [run]);
  const zoom = useZoom(drawing.whole);
  const box = useRef<HTMLDivElement>(null);
  const { ref: sized, width } = useElementSize();
  const gestures = useGestures(box, zoom);
  const hint = useId();
  // The newest attempts are last; they are what somebody comes for.
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [run.id]);

  return (
    <Section title="Timeline">
      <Group gap="xs" justify="space-between">
        <Text size="sm" c="dimmed" id={hint}>
          {zoom.isZoomed
            ? `${absolute(new Date(zoom.view.from).toISOString())} to ${absolute(new Date(zoom.view.to).toISOString())}`
            : 'Zoom with + and −, move with the arrow keys or by dragging, 0 shows the whole run.'}
        </Text>
        <Group gap={4} role="group" aria-label="What the timeline shows">
          <ZoomButton name="Zoom in" Icon={IconZoomIn} onClick={() => zoom.zoom(2)} />
          <ZoomButton name="Zoom out" Icon={IconZoomOut} disabled={!zoom.isZoomed} onClick={() => zoom.zoom(1 / 2)} />
          <ZoomButton name="Earlier" Icon={IconChevronLeft} disabled={!zoom.isZoomed} onClick={() => zoom.pan(-0.5)} />
          <ZoomButton name="Later" Icon={IconChevronRight} disabled={!zoom.isZoomed} onClick={() => zoom.pan(0.5)} />
          <ZoomButton name="Whole run" Icon={IconArrowsHorizontal} disabled={!zoom.isZoomed} onClick={zoom.reset} />
        </Group>
      </Group>
      <div
        ref={useMergedRef(box, sized)}
        className="timeline"
        role="group"
        aria-label="Timeline"
        aria-describedby={hint}
        tabIndex={0}
        {...gestures}
      >
        <div role="img" aria-label={summaryOf(run)}>
          <Canvas
            drawing={drawing}
            view={zoom.view}
            ticks={Math.max(2, Math.min(8, Math.floor(width / PIXELS_A_TICK)))}
          />
        </div>
      </div>
      <Legend bars={drawing.bars} isPaused={drawing.pauses.length > 0} isOngoing={drawing.now !== null} />
    </Section>
  );
}

function summaryOf({ attempts, attempts_total, pauses, created_at, ended_at }: ShownRun): string {
  const shown = attempts.length < attempts_total ? `the newest ${count(attempts.length)} of ` : '';
  const until = ended_at === null ? 'now' : absolute(ended_at);
  return (
    `${shown}${counted(attempts_total, 'attempt')} from ${absolute(created_at)} to ${until}, ` +
    `with ${counted(pauses.length, 'pause')}. The table of attempts says how long each waited, was queued and ran.`
  );
}
