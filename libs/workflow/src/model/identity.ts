import type { ValueTransformer } from 'typeorm';

/** Identity ids are strings wherever they are seen: they may pass 2^53, whatever parser the application gave the driver. */
export const identityAsText: ValueTransformer = {
  to: (value: string | null) => value,
  from: (value: unknown) => (value === null || value === undefined ? null : String(value)),
};
