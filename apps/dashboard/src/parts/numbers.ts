const COUNT = new Intl.NumberFormat();

/** `12,345`, as the reader's language writes it. */
export function count(number: number): string {
  return COUNT.format(number);
}

/** `1 run`, `12,345 runs`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
