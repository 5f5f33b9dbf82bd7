import { inspect } from 'node:util';
import { WorkflowError } from '../errors.js';
import { InvalidQueryError } from '../insights/query-error.js';
import { CliError, EXIT, UsageError, type ExitCode } from './exit.js';
import { oneLine, visible } from './output.js';

export const NAME = 'nestjs-pg-workflows';

/** What went wrong, as it stands on each stream. */
export interface Failure {
  readonly exitCode: ExitCode;
  readonly stdout: string;
  readonly stderr: string;
}

/** With `--json` on standard output, else on standard error; the trace only where it is asked for. */
export function failureOf(error: unknown, argv: readonly string[]): Failure {
  const { code, message, exitCode } = told(error);
  const trace = argv.includes('--verbose') ? `${visible(inspect(error))}\n` : '';
  return argv.includes('--json')
    ? { exitCode, stdout: `${JSON.stringify({ ok: false, code, message }, null, 2)}\n`, stderr: trace }
    : { exitCode, stdout: '', stderr: `${NAME}: ${oneLine(message)}\n${trace}` };
}

/** What was thrown, in words: applications throw what is no Error too. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error && !thrown.message) return (thrown as NodeJS.ErrnoException).code ?? thrown.name;
  const message = (thrown as { message?: unknown } | null | undefined)?.message;
  if (typeof message === 'string' && message !== '') return message;
  return `${inspect(thrown, { breakLength: Infinity })} was thrown, which is no Error`;
}

function told(error: unknown): Pick<CliError, 'code' | 'message' | 'exitCode'> {
  if (error instanceof UsageError) {
    return { code: error.code, message: `${error.message} --help says what there is.`, exitCode: error.exitCode };
  }
  if (error instanceof CliError) return error;
  if (error instanceof InvalidQueryError) return { code: 'USAGE', message: error.message, exitCode: EXIT.unable };
  if (error instanceof WorkflowError) {
    const { code, message } = error;
    return { code, message, exitCode: code === 'WORKFLOW_SCHEMA' ? EXIT.unable : EXIT.refused };
  }
  return { code: 'UNEXPECTED', message: `${messageOf(error)} (--verbose shows where)`, exitCode: EXIT.unable };
}
