// @ts-check
// As much of PostgreSQL's protocol (version 3) as somebody between a client and the server must understand: where a message ends,
// which statement it is about, how the server's answer ends.

/**
 * @typedef {object} Message
 * @property {string} type its letter; empty for what a client says before it is known (start, SSL, cancel), which has none
 * @property {Buffer} body without letter and length
 * @property {Buffer} bytes the whole message, to be passed on
 */

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;

/** Cuts a stream of bytes into messages, wherever the network cut it. */
export class MessageReader {
  /** @type {Buffer} */
  #rest = Buffer.alloc(0);
  #starting;

  /** @param {'client' | 'server'} side whose words are read: a client's first messages have no letter */
  constructor(side) {
    this.#starting = side === 'client';
  }

  /**
   * @param {Buffer} chunk
   * @returns {Message[]} what is complete now
   */
  push(chunk) {
    this.#rest = this.#rest.length ? Buffer.concat([this.#rest, chunk]) : chunk;
    const messages = [];
    for (let message = this.#next(); message; message = this.#next()) messages.push(message);
    return messages;
  }

  /** @returns {Message | null} */
  #next() {
    const head = this.#starting ? 0 : 1;
    if (this.#rest.length < head + 4) return null;
    const end = head + this.#rest.readInt32BE(head);
    if (this.#rest.length < end) return null;
    const bytes = this.#rest.subarray(0, end);
    this.#rest = this.#rest.subarray(end);
    const message = { type: head ? String.fromCharCode(bytes[0]) : '', body: bytes.subarray(head + 4), bytes };
    if (this.#starting && !asksForEncryption(message)) this.#starting = false;
    return message;
  }
}

/**
 * Before it starts, a client may ask for encryption, and waits for one letter.
 *
 * @param {Message} message
 */
export function asksForEncryption({ type, body }) {
  return type === '' && [SSL_REQUEST, GSS_REQUEST].includes(body.readInt32BE(0));
}

/**
 * A connection that is opened only to cancel what another one is executing.
 *
 * @param {Message} message
 */
export function isCancel({ type, body }) {
  return type === '' && body.readInt32BE(0) === CANCEL_REQUEST;
}

/**
 * The statement that the messages of one request are about: the name of a prepared one, else its text, trimmed and in small letters.
 *
 * @param {readonly Message[]} request
 * @returns {string}
 */
export function statementOf(request) {
  for (const { type, body } of request) {
    if (type === 'Q') return words(textAt(body, 0));
    if (type !== 'P' && type !== 'B') continue;
    // Parse: name, text. Bind: portal, name of the statement.
    const first = textAt(body, 0);
    const second = textAt(body, Buffer.byteLength(first) + 1);
    if (type === 'B') return withoutSize(second);
    return withoutSize(first) || words(second);
  }
  return '';
}

/**
 * Statements for larger tables have a number behind their name.
 *
 * @param {string} name
 */
function withoutSize(name) {
  return name.replace(/_\d+$/, '');
}

/**
 * How many rows of an answer have something in their first column.
 *
 * @param {readonly Message[]} answer
 */
export function rowsIn(answer) {
  return answer.filter(({ type, body }) => type === 'D' && body.readInt16BE(0) > 0 && body.readInt32BE(2) >= 0).length;
}

/**
 * The state in which a ReadyForQuery leaves the connection: `I` idle, `T` in a transaction, `E` in a failed one.
 *
 * @param {Message} ready
 */
export function stateOf({ body }) {
  return String.fromCharCode(body[0]);
}

/**
 * @param {Buffer} body
 * @param {number} from
 */
function textAt(body, from) {
  return body.toString('utf8', from, body.indexOf(0, from));
}

/** @param {string} text */
const words = (text) => text.trim().toLowerCase();
