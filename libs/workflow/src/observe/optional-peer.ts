import { WorkflowConfigurationError } from '../errors.js';

/** A module, or why it could not be loaded. */
export type Loaded = { readonly module: unknown } | { readonly error: unknown };

/**
 * Optional peers, loaded when they are asked for. Each `require` stands in a `try` of its own: bundlers then let it be when the package is not there.
 */
/* eslint-disable @typescript-eslint/no-require-imports */
export const PEERS = {
  prometheus(): Loaded {
    try {
      return { module: require('@willsoto/nestjs-prometheus') as unknown };
    } catch (error) {
      return { error };
    }
  },
  openTelemetry(): Loaded {
    try {
      return { module: require('@opentelemetry/api') as unknown };
    } catch (error) {
      return { error };
    }
  },
};
/* eslint-enable @typescript-eslint/no-require-imports */

/**
 * A peer that the options ask for.
 *
 * @param packages what is to be installed, as npm is told
 * @param option the option that needs it
 * @throws {WorkflowConfigurationError} when it could not be loaded
 */
export function required<Peer>(loaded: Loaded, packages: string, option: string): Peer {
  if ('module' in loaded) return loaded.module as Peer;
  throw new WorkflowConfigurationError(
    `WorkflowModule: "${option}" needs ${packages.replaceAll(' ', ' and ')}, which could not be loaded: npm install ${packages}, or leave it out.`,
    { cause: loaded.error },
  );
}

/** Null where it, or what it needs itself, is not installed. Another failure to load is thrown. */
export function ifThere<Peer>(loaded: Loaded): Peer | null {
  if ('module' in loaded) return loaded.module as Peer;
  if ((loaded.error as { code?: unknown } | null)?.code === 'MODULE_NOT_FOUND') return null;
  throw loaded.error;
}
