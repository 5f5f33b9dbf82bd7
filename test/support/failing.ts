import { randomUUID } from 'node:crypto';
import type { StepContext } from 'nestjs-pg-workflows';

export type Body = (ctx: StepContext) => unknown;
export type Handler = (error: unknown, ctx: StepContext) => unknown;

/** What body, guard and handler of one run do; who is not named does nothing. */
export interface Script {
  body?: Body;
  guard?: Body;
  handle?: Handler;
}

const scripts = new Map<string, Script>();
export const scriptOf = ({ args }: StepContext) => scripts.get(args.key)!;

/** Options of a start that has this script. */
export function scripted(script: Script) {
  const key = randomUUID();
  scripts.set(key, script);
  return { args: { key } };
}

/** A body that throws the first of these at its first attempt, and so on, and then returns. */
export const throwing =
  (...errors: Error[]): Body =>
  ({ attempt }) => {
    const error = errors[attempt - 1];
    if (error) throw error;
  };

export class Timeout extends Error {}
export class ReadTimeout extends Timeout {}
export class Declined extends Error {}
