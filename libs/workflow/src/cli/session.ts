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
  /** To be told before a verb of that run is sent: it may have been done from then on. */
  readonly sending: (run: string) => void;
}

/** A command: looks at what was given, so that what cannot be right is said before the application is loaded; then does it. */
export type Prepare = (given: Given) => Act | Promise<Act>;
export type Act = (session: Session) => Promise<ExitCode>;

export function sessionOf(app: OpenApp, around: Pick<Session, 'given' | 'out' | 'label' | 'sending'>): Session {
  return { ...app, ...around, reads: new RunReads(app.parts), json: around.given.flags.has('json') };
}
