const begun = performance.now();

/** One line: when, about what, and what happened. */
export function say(about: string, text: string): void {
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`${seconds.padStart(5)} s  ${about.padEnd(13)} ${text}`);
}

export function headline(text: string): void {
  console.log(`\n${text}\n`);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Rows as aligned columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? title).length)));
  const line = (row: readonly string[]) => `  ${row.map((cell, column) => cell.padEnd(widths[column])).join('  ')}`;
  for (const row of [head, widths.map((width) => '-'.repeat(width)), ...rows]) console.log(line(row).trimEnd());
}
