/** As the icon in the browser's tab. */
export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width={24} height={24} aria-hidden>
      <rect width="32" height="32" rx="7" fill="#1864ab" />
      <path d="M7 9h9M12 16h9M17 23h8" fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
    </svg>
  );
}
