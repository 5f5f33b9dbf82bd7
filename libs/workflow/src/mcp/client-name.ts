import { randomUUID } from 'node:crypto';

/** A client's name is cut after so many characters. */
const LONGEST = 100;
const SESSION = /^([\w-]{1,600})\.[\w-]{36}$/;

/**
 * The session's id, which carries the name that the client gave itself as it connected: clients send the id along with each request that follows. So the
 * server need not remember who connected, and another process may answer the next request. It proves nothing, and nothing depends on it but a name.
 */
export function sessionOf(clientName: unknown): string | null {
  const name = typeof clientName === 'string' ? shortened(clientName) : '';
  return name === '' ? null : `${Buffer.from(name).toString('base64url')}.${randomUUID()}`;
}

/** The name in a session's id; a blank when there is none. */
export function clientNameOf(session: string | readonly string[] | undefined): string {
  const [, name = ''] = SESSION.exec(typeof session === 'string' ? session : '') ?? [];
  return shortened(Buffer.from(name, 'base64url').toString());
}

/** It stands in a line of the audit trail: what breaks or turns a line is left out. */
function shortened(name: string): string {
  const text = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return Array.from(text).slice(0, LONGEST).join('');
}
