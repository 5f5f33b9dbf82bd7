import type { ErrorContext, ErrorReporter } from 'nestjs-pg-workflows';

interface Incident {
  readonly error: string;
  readonly context: ErrorContext;
}

/** Where Sentry or the like would be told of errors. Without a reporter of its own, an application finds them in Nest's log. */
class Incidents implements ErrorReporter {
  readonly list: Incident[] = [];

  report(error: unknown, context: ErrorContext): void {
    this.list.push({ error: error instanceof Error ? error.constructor.name : String(error), context });
  }
}

export const incidents = new Incidents();
