import { Logger } from '@nestjs/common';

export interface LogLine {
  readonly level: 'error' | 'warn' | 'log';
  readonly text: string;
}

export interface CapturedLog {
  /** What the engine has logged, of the levels that a person reads. */
  readonly lines: readonly LogLine[];
  /** The lines that say such a thing. */
  readonly saying: (what: RegExp) => string[];
}

/** Said in every test: the thread's file is one of the built package. */
const IN_EVERY_TEST = /^Leases are renewed by the main thread/;

/** Takes what the engine logs from now on, instead of printing it, until the mocks are restored. */
export function captureLog(): CapturedLog {
  const lines: LogLine[] = [];
  for (const level of ['error', 'warn', 'log'] as const) {
    const spy = jest.spyOn(Logger.prototype, level) as jest.SpyInstance<void, unknown[], Logger>;
    spy.mockImplementation(function (this: Logger, message: unknown) {
      const text = String(message);
      if ((this as unknown as { context?: string }).context !== 'Workflow' || IN_EVERY_TEST.test(text)) return;
      lines.push({ level, text });
      if (process.env.DEBUG_TESTS) console.warn(`${new Date().toISOString()} ${level} ${text}`);
    });
  }
  return { lines, saying: (what) => lines.map(({ text }) => text).filter((text) => what.test(text)) };
}
