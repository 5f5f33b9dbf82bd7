/** How the tool ends. */
export const EXIT = {
  /** Done, or nothing was found. */
  fine: 0,
  /** It was asked, and the answer is no: a finding of `check`, an unknown run, a verb that is not possible now, a payload that is refused. */
  refused: 1,
  /** It could not be asked: the command line, the application, the database or its tables are not as they should be. Nothing was done, unless it says so (`UNKNOWN_OUTCOME`). */
  unable: 2,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What the tool says when it cannot do as asked; `message` is for people, `code` for programs. */
export class CliError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly exitCode: ExitCode = EXIT.unable,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The command line cannot be right. */
export class UsageError extends CliError {
  constructor(message: string) {
    super('USAGE', message);
  }
}
