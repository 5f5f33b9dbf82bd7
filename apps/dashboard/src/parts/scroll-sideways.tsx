import { useElementSize } from '@mantine/hooks';
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';

/** Lets what is too wide scroll: with the arrow keys too, for which it then takes the focus. */
export function ScrollSideways({ what, children }: { what: string; children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null);
  const { ref: content, width } = useElementSize();
  const [wide, setWide] = useState(false);
  useLayoutEffect(() => {
    const { scrollWidth = 0, clientWidth = 0 } = frame.current ?? {};
    setWide(scrollWidth > clientWidth + 1);
  }, [width, children]);
  return (
    <div ref={frame} style={{ overflowX: 'auto' }} {...(wide && { tabIndex: 0, role: 'region', 'aria-label': what })}>
      <div ref={content}>{children}</div>
    </div>
  );
}
