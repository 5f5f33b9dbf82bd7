/** What a log line says of something thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
