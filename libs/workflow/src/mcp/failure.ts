import { Refusal, refusalOf, refusedByApplication } from '../operating/refusal.js';

/** All that a client reads of what nobody expected. */
export const UNEXPECTED = 'Something unexpected happened; the log of the application says what.';

/** What an error means to whoever called; null: it is for the log alone. */
export function failureOf(error: unknown): Refusal | null {
  const refusal = refusalOf(error) ?? refusedByApplication(error);
  return refusal && refusal.statusCode < 500 ? refusal : null;
}
