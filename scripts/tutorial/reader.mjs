// @ts-check
// Follows a page as its reader does: edits files, types commands into two terminals, and looks at what they print.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { start, StepFailed } from '../install/command.mjs';
import { until } from '../install/waiting.mjs';
import { comparable, Ids, matches } from './result.mjs';
import { Terminal } from './terminal.mjs';

/**
 * @typedef {import('./page.mjs').Commands} Commands
 * @typedef {import('./page.mjs').File} File
 *
 * What must be typed otherwise here than the page says, and why.
 * @typedef {{ page: string, here: string, why: string }} Substitution
 */

const PAGE_ADDRESS = 'localhost:3000';
const PATIENCE_MS = 60_000;

export class Reader {
  #ids = new Ids();
  #address;
  #second;
  #substitutions;
  /** @type {Set<Substitution>} */
  #used = new Set();
  /** @type {{ commands: Commands, running?: ReturnType<typeof start> } | undefined} */
  #first;

  /**
   * @param {string} folder
   * @param {number} port
   * @param {Substitution[]} substitutions
   */
  constructor(folder, port, substitutions) {
    this.#address = `localhost:${port}`;
    const quietNpm = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
    this.#second = new Terminal(folder, { ...quietNpm, PORT: String(port) });
    const address = { page: PAGE_ADDRESS, here: this.#address, why: 'the port may be taken here' };
    this.#substitutions = [...substitutions, address];
  }

  /** @param {import('./page.mjs').Step} step */
  async follow(step) {
    if (step.is === 'file') return this.#edit(step);
    if (step.endsFirst) await this.#leaveFirst();
    if (step.staysUp) this.#first = { commands: step };
    await this.#runFirst();
    if (!step.staysUp) await this.#type(step);
  }

  /** @returns {Substitution[]} those that the page gave no reason for */
  get unused() {
    return this.#substitutions.filter((substitution) => !this.#used.has(substitution));
  }

  close() {
    this.#first?.running?.end('SIGKILL');
    this.#second.close();
  }

  /** @param {File} file */
  async #edit({ line, name, text, isThere }) {
    const folder = await this.#second.type(`line ${line}, folder`, 'pwd');
    const file = path.join(folder.trim(), name);
    if (isThere) {
      const [, ...rest] = text.split('\n');
      const found = readFileSync(file, 'utf8');
      if (found.trim() === rest.join('\n').trim()) return;
      throw new StepFailed(`line ${line}`, `${name} is not what the page says`, found);
    }
    // The watching of files is Nest's own, and when it has seen the last of them cannot be told: begun anew, it has.
    await this.#endFirst();
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** @param {Commands} commands */
  async #type({ line, text, asksUntil, result }) {
    const step = `line ${line}, ${text.split('\n', 1)[0]}`;
    if (text.includes(PAGE_ADDRESS)) await this.#answer(step);
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const printed = await this.#second.type(step, this.#here(text));
      if (result === undefined || matches(result, printed, this.#ids)) return;
      if (asksUntil && Date.now() < deadline) continue;
      const expected = this.#ids.translate(comparable(result));
      throw new StepFailed(step, `the page has\n${expected}\nand this was printed:`, comparable(printed));
    }
  }

  /** @param {string} text */
  #here(text) {
    return this.#substitutions.reduce((typed, substitution) => {
      if (typed.includes(substitution.page)) this.#used.add(substitution);
      return typed.replaceAll(substitution.page, substitution.here);
    }, this.#ids.translate(text));
  }

  async #runFirst() {
    if (!this.#first || this.#first.running) return;
    const { line, text } = this.#first.commands;
    const step = `line ${line}, first terminal`;
    const place = await this.#second.type(step, 'pwd; printenv DATABASE_URL PORT');
    const [cwd = '', DATABASE_URL = '', PORT = ''] = place.trim().split('\n');
    this.#first.running = start(['bash', '-c', text], { cwd, env: { DATABASE_URL, PORT } });
    await this.#answer(step, this.#first.running);
  }

  /**
   * @param {string} step
   * @param {Pick<ReturnType<typeof start>, 'ended' | 'output'>} program
   */
  async #answer(step, program = this.#second) {
    await until(step, program, 'the application answers', async () => {
      const { ok } = await fetch(`http://${this.#address}/`);
      return ok;
    });
  }

  async #endFirst() {
    const running = this.#first?.running;
    if (!this.#first || !running) return;
    running.end('SIGINT');
    await Promise.race([running.ended, pause(10_000, undefined, { ref: false })]);
    running.end('SIGKILL');
    this.#first.running = undefined;
  }

  async #leaveFirst() {
    await this.#endFirst();
    this.#first = undefined;
  }
}
