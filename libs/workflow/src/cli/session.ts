import { RunReads } from '../insights/run-reads.js';
import type { Given } from './arguments.js';
import type { OpenApp } from './open-app.js';
import type { ExitCode } from './exit.js';
import type { Output } from './output.js';

/** What a command works with. */
export interface Session extends OpenApp {
  readonly given: Given;
  readonly out: Output;
  readonly reads: RunReads;
  /** JSON is asked for. */
  readonly json: boolean;
  /** As messages call the application. */
  readonly label: string;
}

/** A command: looks at what was given, so that what cannot be right is said before the application is loaded; then does it. */
export type Prepare = (given: Given) => Act | Promise<Act>;
export type Act = (session: Session) => Promise<ExitCode>;

export function sessionOf(app: OpenApp, given: Given, out: Output, label: string): Session {
  return { ...app, given, out, label, reads: new RunReads(app.parts), json: given.flags.has('json') };
}
