/** The values of a statement that is put together of constant parts: each gets its place as it is bound. */
export class BoundValues {
  readonly list: unknown[] = [];

  /** The parameter's place, with its type: `$3::text`. */
  bind(value: unknown, type: 'text' | 'uuid' | 'bigint' | 'int' | 'float8' | 'timestamptz'): string {
    return `$${this.list.push(value)}::${type}`;
  }

  /** Binds parameters that stand one after the other, as a constant query expects them; the place of the first. */
  bindAll(values: readonly unknown[]): number {
    return this.list.push(...values) - values.length + 1;
  }
}
