import type { Moment } from './views.js';

/** A moment as SQL sends it: milliseconds since 1970, which every version of the driver and every setting of the server reads alike. */
export function epochMs(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::float8`;
}

export function toDate(ms: number): Date;
export function toDate(ms: number | null): Date | null;
export function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

export function toMoment(ms: number): Moment;
export function toMoment(ms: number | null): Moment | null;
export function toMoment(ms: number | null): Moment | null {
  return ms === null ? null : new Date(ms).toISOString();
}
