// @ts-check
// A reader's terminal: one shell, in which folders, variables and what was started with `&` stay from one block of commands to the next.

import { start, StepFailed } from '../install/command.mjs';
import { until } from '../install/waiting.mjs';

const PATIENCE_MS = 300_000;

export class Terminal {
  #shell;
  #blocks = 0;
  #read = 0;

  /**
   * @param {string} cwd
   * @param {Record<string, string>} env
   */
  constructor(cwd, env) {
    this.#shell = start(['bash', '--noprofile', '--norc'], { cwd, env, input: true });
  }

  /**
   * @param {string} step its name in messages
   * @param {string} commands the last of them must succeed
   * @returns {Promise<string>} what they printed on standard output
   */
  async type(step, commands) {
    const mark = `block-${(this.#blocks += 1)}-ended`;
    const from = this.#shell.output().length;
    this.#shell.write(`{ ${commands}\n} </dev/null\nprintf '\\n%s %s\\n' ${mark} "$?"\n`);
    const ended = new RegExp(`\\n${mark} (\\d+)\\n`);
    const rest = () => this.#shell.stdout().slice(this.#read);
    const [whole, status] = await until(
      step,
      this.#shell,
      'its commands have ended',
      async () => ended.exec(rest()),
      PATIENCE_MS,
    );
    const printed = rest().slice(0, rest().indexOf(whole));
    this.#read += printed.length + whole.length;
    if (status === '0') return printed;
    throw new StepFailed(step, `its last command ended with exit code ${status}`, this.#shell.output().slice(from));
  }

  get ended() {
    return this.#shell.ended;
  }

  output() {
    return this.#shell.output();
  }

  /** With everything that was started in it. */
  close() {
    this.#shell.end('SIGKILL');
  }
}
