// @ts-check
// Stands between an application and its PostgreSQL, understands what is said, and can be told to do something at a certain word: before
// a statement reaches the server, or when the server has answered and the client does not know it yet. What happens there
// is what happens when a process is killed, or a connection cut, at that very moment.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { asksForEncryption, isCancel, MessageReader, rowsIn, stateOf, statementOf } from './pg-messages.mjs';

/**
 * @typedef {import('./pg-messages.mjs').Message} Message
 *
 * @typedef {object} Moment when something is to happen
 * @property {string} statement the name of a prepared statement (`wf_settle`), or a text in small letters (`commit`)
 * @property {'request' | 'answer'} on `request`: the server has not got it yet; `answer`: it has answered, the client has not
 * @property {number} [nth] the how many-th such moment it is; default: the first
 * @property {string} [after] only when this statement stood before it in the same transaction
 * @property {boolean} [withRows] only when the answer has a row whose first column is not null
 *
 * @typedef {object} Link one connection of the application, and ours to the server on its behalf
 * @property {() => void} cut ends both at once; what has not been passed on never will be
 *
 * @typedef {(link: Link) => void | Promise<void>} Deed what is held up stays so until it is done
 *
 * @typedef {object} Watch
 * @property {Promise<void>} happened resolves when the moment came and the deed was done
 * @property {() => void} forget
 *
 * @typedef {{ readonly statement: string, readonly before: ReadonlySet<string>, readonly rows: number }} Said
 */

export class PostgresProxy {
  /** Where the application is to connect. */
  url = '';
  /** Local ports of its connections to the server, also of those that have ended: `client_port` in pg_stat_activity. */
  serverPorts = /** @type {Set<number>} */ (new Set());
  #server = createServer((socket) => this.#accept(socket));
  #target;
  /** @type {Set<Connection>} */
  #connections = new Set();
  /** @type {Set<{ moment: Moment, count: number, deed: Deed, happened: () => void }>} */
  #watches = new Set();

  /** @param {string} target the server's URL */
  constructor(target) {
    this.#target = new URL(target);
  }

  async open() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String(/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port);
    this.url = url.href;
    return this;
  }

  async close() {
    this.#watches.clear();
    this.cutAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Ends every connection, as when the process on the other side dies. */
  cutAll() {
    for (const connection of this.#connections) connection.cut();
  }

  /**
   * Does something once, when a moment comes.
   *
   * @param {Moment} moment
   * @param {Deed} deed
   * @returns {Watch}
   */
  once(moment, deed) {
    /** @type {() => void} */
    let happened = () => {};
    /** @type {Promise<void>} */
    const promise = new Promise((resolve) => (happened = resolve));
    const watch = { moment, count: 0, deed, happened };
    this.#watches.add(watch);
    return { happened: promise, forget: () => this.#watches.delete(watch) };
  }

  /**
   * Lets no such statement through until it is released: who sent it waits, as for a slow server.
   *
   * @param {string} statement
   * @returns {() => void} releases it
   */
  hold(statement) {
    /** @type {() => void} */
    let release = () => {};
    /** @type {Promise<void>} */
    const released = new Promise((resolve) => (release = resolve));
    const watch = {
      moment: { statement, on: /** @type {const} */ ('request'), nth: 0 },
      count: 0,
      deed: () => released,
      happened() {},
    };
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
      release();
    };
  }

  /** @param {import('node:net').Socket} client */
  #accept(client) {
    const server = connect(Number(this.#target.port || 5432), this.#target.hostname);
    const connection = new Connection(client, server, (on, said, link) => this.#look(on, said, link));
    this.#connections.add(connection);
    server.once('connect', () => this.serverPorts.add(server.localPort ?? 0));
    void connection.over.then(() => this.#connections.delete(connection));
  }

  /**
   * @param {'request' | 'answer'} on
   * @param {Said} said
   * @param {Link} link
   */
  async #look(on, said, link) {
    for (const watch of this.#watches) {
      const { moment } = watch;
      if (!isMoment(moment, on, said)) continue;
      watch.count += 1;
      if (moment.nth === 0) await watch.deed(link);
      else if (watch.count === (moment.nth ?? 1)) {
        this.#watches.delete(watch);
        await watch.deed(link);
        watch.happened();
      }
    }
  }
}

/**
 * @param {Moment} moment
 * @param {'request' | 'answer'} on
 * @param {Said} said
 */
function isMoment({ statement, on: wanted, after, withRows }, on, said) {
  if (statement !== said.statement || wanted !== on) return false;
  if (after !== undefined && !said.before.has(after)) return false;
  return !withRows || said.rows > 0;
}

/** Does one thing after the other. */
class InTurn {
  #last = Promise.resolve();

  /** @param {() => void | Promise<void>} deed */
  do(deed) {
    this.#last = this.#after(this.#last, deed);
  }

  /**
   * @param {Promise<void>} before
   * @param {() => void | Promise<void>} deed
   */
  async #after(before, deed) {
    await before;
    await deed();
  }
}

/** A client's connection with ours to the server. Requests and answers are passed on whole, in their order. */
class Connection {
  /** Resolves when both sides are closed. */
  over;
  #client;
  #server;
  #look;
  /** What the client says until its request is whole. @type {Message[]} */
  #request = [];
  /** What the server says until its answer is whole. @type {Message[]} */
  #answer = [];
  /** Requests without an answer yet. @type {{ statement: string, before: ReadonlySet<string> }[]} */
  #asked = [];
  /** Statements of the transaction that is open. @type {Set<string>} */
  #transaction = new Set();
  /** Until the server is ready for the first time, everything passes. */
  #started = false;
  #cut = false;
  #toServer = new InTurn();
  #toClient = new InTurn();

  /**
   * @param {import('node:net').Socket} client
   * @param {import('node:net').Socket} server
   * @param {(on: 'request' | 'answer', said: Said, link: Link) => Promise<void>} look
   */
  constructor(client, server, look) {
    this.#client = client;
    this.#server = server;
    this.#look = look;
    this.over = Promise.all([once(client, 'close'), once(server, 'close')]).catch(() => undefined);
    const said = new MessageReader('client');
    const answered = new MessageReader('server');
    client.on('data', (chunk) => said.push(chunk).forEach((message) => this.#hear(message)));
    server.on('data', (chunk) => answered.push(chunk).forEach((message) => this.#hearServer(message)));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      from.setNoDelay(true);
      from.on('error', () => this.cut());
      // Not half closed: a process that is gone reads nothing any more.
      from.on('close', () => to.destroy());
    }
  }

  cut() {
    this.#cut = true;
    this.#client.destroy();
    this.#server.destroy();
  }

  /** @param {Message} message */
  #hear(message) {
    if (asksForEncryption(message)) return void this.#client.write('N');
    if (isCancel(message) || !this.#started || 'pXdcf'.includes(message.type)) {
      this.#pass(message);
      return;
    }
    this.#request.push(message);
    // Query, Sync: the request is whole.
    if (message.type !== 'Q' && message.type !== 'S') return;
    const request = this.#request;
    this.#request = [];
    this.#toServer.do(() => this.#ask(request));
  }

  /** @param {Message} message what belongs to no request */
  #pass({ bytes }) {
    this.#toServer.do(() => {
      if (!this.#cut) this.#server.write(bytes);
    });
  }

  /** @param {readonly Message[]} request */
  async #ask(request) {
    const statement = statementOf(request);
    const before = new Set(this.#transaction);
    this.#transaction.add(statement);
    await this.#look('request', { statement, before, rows: 0 }, this);
    if (this.#cut) return;
    this.#asked.push({ statement, before });
    this.#server.write(Buffer.concat(request.map(({ bytes }) => bytes)));
  }

  /** @param {Message} message */
  #hearServer(message) {
    const ready = message.type === 'Z';
    const asked = this.#asked[0];
    if (!this.#started || !asked) {
      this.#started ||= ready;
      this.#tell([message]);
      return;
    }
    this.#answer.push(message);
    if (!ready) return;
    const answer = this.#answer;
    this.#answer = [];
    this.#asked.shift();
    if (stateOf(message) === 'I') this.#transaction.clear();
    this.#tell(answer, { ...asked, rows: rowsIn(answer) });
  }

  /**
   * @param {readonly Message[]} messages
   * @param {Said} [said] the statement they answer
   */
  #tell(messages, said) {
    this.#toClient.do(async () => {
      if (said) await this.#look('answer', said, this);
      if (!this.#cut) this.#client.write(Buffer.concat(messages.map(({ bytes }) => bytes)));
    });
  }
}
