import os from 'node:os';

/** The tables hold 255 characters, `cli:` included. */
const MAX_NAME = 250;

/** Who it is, as it stands on the audit trail: `cli:<name>`, or `cli` for one without a name. */
export function actorOf(given: string | undefined): string {
  const name = (given ?? systemUser()).replace(/\p{Surrogate}|\p{Control}/gu, '\uFFFD').trim();
  return name === '' ? 'cli' : `cli:${Array.from(name).slice(0, MAX_NAME).join('')}`;
}

/** In a container there may be a number and no name to it. */
function systemUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return process.env.USER ?? process.env.USERNAME ?? '';
  }
}
