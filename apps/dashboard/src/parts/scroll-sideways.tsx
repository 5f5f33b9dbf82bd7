import { useEffect, useRef, useState, type ReactNode } from 'react';

/** Lets what is too wide scroll: with the arrow keys too, for which it then takes the focus. */
export function ScrollSideways({ what, children }: { what: string; children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const { current } = frame;
    if (current === null) return;
    // The observer comes once the browser has laid everything out; who asks earlier makes it do that twice.
    const observer = new ResizeObserver(() => setWide(current.scrollWidth > current.clientWidth + 1));
    observer.observe(current);
    for (const child of current.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={frame} style={{ overflowX: 'auto' }} {...(wide && { tabIndex: 0, role: 'region', 'aria-label': what })}>
      {children}
    </div>
  );
}
