/** The reader's own zone, by its name. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A moment as `<input type="datetime-local">` holds it, to the second; empty for what is none. */
export function toLocalInput(moment: string): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The moment that was typed, with its zone; empty for what is none. */
export function fromLocalInput(typed: string): string {
  const at = new Date(typed);
  return typed === '' || Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
