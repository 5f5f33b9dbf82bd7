import { WorkflowConfigurationError } from '../errors.js';

/**
 * Loads an optional peer by `load`, which names it to `require`, so that bundlers see it.
 *
 * @param what the option that needs it
 * @throws {WorkflowConfigurationError} when it cannot be loaded
 */
export function loadPeer<Peer>(load: () => unknown, packages: string, what: string): Peer {
  try {
    return load() as Peer;
  } catch (error) {
    throw new WorkflowConfigurationError(
      `WorkflowModule: "${what}" needs ${packages.replaceAll(' ', ' and ')}, which could not be loaded: npm install ${packages}, or leave it out.`,
      { cause: error },
    );
  }
}

/** Null where it, or what it needs itself, is not installed. Another failure to load is thrown. */
export function loadPeerIfThere<Peer>(load: () => unknown): Peer | null {
  try {
    return load() as Peer;
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}
