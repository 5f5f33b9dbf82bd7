/** The four tables' names as SQL, qualified with the DataSource's schema. They come from entity metadata, never from input. */
export interface Tables {
  readonly runs: string;
  readonly steps: string;
  readonly events: string;
  readonly signals: string;
}

/**
 * One SQL statement: prepared once a connection under its name, so that it is parsed and planned once. Values are bound
 * parameters; only table names and constants of this package stand in the text.
 */
export interface Statement {
  readonly name: string;
  readonly text: (tables: Tables) => string;
}

export function statement(name: string, text: (tables: Tables) => string): Statement {
  return { name: `wf_${name}`, text };
}

/**
 * `status = value` of a row that is found by its id. Written so that no partial index fits it: one that was empty when the table was
 * analysed looks cheaper than the primary key, for as long as the plan lives, and is read whole once it has filled up.
 */
export function statusIs(status: string, value: string): string {
  return `${status} || '' = ${value}`;
}

/**
 * True of every id. Two bounds make the planner expect one row where it would guess ten or more, and take the index: a table that is small when it
 * plans looks cheaper to read whole, for as long as that plan lives.
 */
export function expectOne(id: string): string {
  return `${id} between 1 and 9223372036854775807`;
}

/**
 * Pads an array parameter to a multiple of 16. PostgreSQL compares a custom plan's cost for the given length with the generic
 * plan's for a guessed 10: short arrays would be planned anew on each call (0.73 against 0.4 ms for a settlement of one).
 */
export function padded<T>(values: readonly T[]): (T | null)[] {
  const length = Math.ceil(values.length / 16) * 16;
  return length === values.length ? [...values] : [...values, ...Array<null>(length - values.length).fill(null)];
}

/**
 * As `padded`, written out as PostgreSQL reads an array: the driver looks at each element for what must be escaped. For numbers and ids
 * that PostgreSQL gave, in which nothing must.
 */
export function paddedArray(values: readonly (number | string | null)[]): string {
  return `{${padded(values)
    .map((value) => value ?? 'null')
    .join(',')}}`;
}
