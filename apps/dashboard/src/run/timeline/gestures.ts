import { useEffect, useRef, type KeyboardEvent, type PointerEvent, type RefObject } from 'react';
import type { Zoom } from './zoom';

const CLOSER = 1.5;
const ASIDE = 0.2;

const KEYS: Readonly<Record<string, (zoom: Zoom) => void>> = {
  '+': ({ zoom }) => zoom(CLOSER),
  '=': ({ zoom }) => zoom(CLOSER),
  '-': ({ zoom }) => zoom(1 / CLOSER),
  '0': ({ reset }) => reset(),
  ArrowLeft: ({ pan }) => pan(-ASIDE),
  ArrowRight: ({ pan }) => pan(ASIDE),
};

/** Keys, dragging, and the wheel with Ctrl (a pinch on a touchpad is that too). */
export function useGestures(box: RefObject<HTMLElement | null>, zoom: Zoom) {
  const latest = useRef(zoom);
  const draggedFrom = useRef<number | null>(null);
  useEffect(() => {
    latest.current = zoom;
  });

  // React's own listener could not keep the page from zooming.
  useEffect(() => {
    const element = box.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { left, width } = trackOf(element!);
      const { view } = latest.current;
      const at = view.from + Math.min(1, Math.max(0, (event.clientX - left) / width)) * (view.to - view.from);
      latest.current.zoom(event.deltaY < 0 ? CLOSER : 1 / CLOSER, at);
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  }, [box]);

  return {
    onKeyDown(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const press = KEYS[event.key];
      if (!press) return;
      event.preventDefault();
      press(zoom);
    },
    onPointerDown(event: PointerEvent<HTMLElement>) {
      if (event.button !== 0 || !zoom.isZoomed) return;
      draggedFrom.current = event.clientX;
      event.currentTarget.setPointerCapture(event.pointerId);
      event.currentTarget.dataset.dragging = '';
    },
    onPointerMove(event: PointerEvent<HTMLElement>) {
      if (draggedFrom.current === null) return;
      zoom.pan((draggedFrom.current - event.clientX) / trackOf(event.currentTarget).width);
      draggedFrom.current = event.clientX;
    },
    onPointerUp(event: PointerEvent<HTMLElement>) {
      draggedFrom.current = null;
      delete event.currentTarget.dataset.dragging;
    },
    onPointerCancel(event: PointerEvent<HTMLElement>) {
      draggedFrom.current = null;
      delete event.currentTarget.dataset.dragging;
    },
  };
}

/** Where moments are drawn: beside the labels. */
function trackOf(box: HTMLElement): { left: number; width: number } {
  return box.querySelector('.timeline-track')!.getBoundingClientRect();
}
