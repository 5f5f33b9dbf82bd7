import { writeSync } from 'node:fs';
import { unknownOutcome } from './act-outcome.js';
import { CliError, EXIT, type ExitCode } from './exit.js';
import { failureOf, messageOf, NAME } from './failure.js';
import { oneLine, type Output } from './output.js';

/**
 * How the process ends. The application's code is in it: an error that nobody caught, a `process.exit`, or a promise that nothing will ever settle must not
 * pass for an answer, and must not hide one.
 */
export class Ending {
  /** The application whose code is in the process, as messages call it. */
  label: string | null = null;
  /** The run whose verb is under way, or was carried out. */
  private sent: string | null = null;
  private code: ExitCode = EXIT.unable;
  /** The answer, or what went wrong, has been told or is about to be: nothing may follow. */
  private told = false;

  constructor(
    private readonly out: Output,
    private readonly argv: readonly string[],
  ) {
    // Whoever ends the process without a word has not done what was asked.
    process.exitCode = EXIT.unable;
    process.on('uncaughtException', this.stray);
    process.on('unhandledRejection', this.stray);
    process.on('beforeExit', this.idle);
    process.on('exit', this.exiting);
  }

  /** Another copy of the tool sees to it from here on. */
  release(): void {
    process.off('uncaughtException', this.stray);
    process.off('unhandledRejection', this.stray);
    process.off('beforeExit', this.idle);
    process.off('exit', this.exiting);
  }

  /** From now on it may have been done. */
  sending(run: string): void {
    this.sent = run;
  }

  /** All of the answer is out. */
  answered(code: ExitCode): void {
    this.told = true;
    this.code = code;
  }

  end(code: ExitCode): never {
    this.answered(code);
    process.exit(code);
  }

  /** Says what went wrong, and ends the process. */
  async fail(error: unknown): Promise<void> {
    if (!this.told) {
      const { exitCode, stdout, stderr } = failureOf(error, this.argv);
      this.answered(exitCode);
      this.out.exitCode = exitCode;
      if (stderr !== '') process.stderr.write(stderr);
      if (stdout !== '') await this.out.text(stdout);
    }
    process.exit(this.code);
  }

  private readonly stray = (error: unknown): void => {
    // The verb has its answer still to come, and a time limit.
    if (this.sent === null && !this.told) void this.fail(error);
    else process.stderr.write(`${NAME}: the application has not caught: ${oneLine(messageOf(error))}\n`);
  };

  /** Nothing is left that could go on. */
  private readonly idle = (): void => {
    if (this.told) return;
    const where = 'a top-level await, a constructor or a provider factory waits for something that never comes';
    void this.fail(this.broken(`${this.label ?? 'The tool'} does not come up: ${where}`));
  };

  /** Too late for anything but to write at once. */
  private readonly exiting = (code: number): void => {
    if (!this.told && !this.out.hungUp) {
      const error = this.broken(`${this.label ?? 'Something'} has ended the process: process.exit(${code})`);
      const { stdout, stderr } = failureOf(error, this.argv);
      this.answered(EXIT.unable);
      write(2, stderr);
      write(1, stdout);
    }
    if (!this.out.hungUp) process.exitCode = this.code;
  };

  private broken(message: string): CliError {
    return this.sent === null ? new CliError('APP_FAILED', `${message}.`) : unknownOutcome(message, this.sent);
  }
}

function write(descriptor: 1 | 2, text: string): void {
  try {
    if (text !== '') writeSync(descriptor, text);
  } catch {
    // Nobody reads it.
  }
}
