/** A number as a length, beside the number itself: for those who see it alone. */
export function Bar({ part }: { part: number }) {
  return (
    <div aria-hidden style={{ minWidth: 40, width: '100%', paddingBlock: 4 }}>
      <div
        style={{
          width: `${Math.min(1, part) * 100}%`,
          minWidth: part > 0 ? 2 : 0,
          height: 12,
          borderRadius: 2,
          background: 'var(--mantine-primary-color-filled)',
        }}
      />
    </div>
  );
}
