import { HttpException } from '@nestjs/common';
import { WorkflowError } from '../errors.js';

/** A request that is not answered as asked. */
export class Refusal extends Error {
  constructor(
    readonly statusCode: number,
    readonly code: string,
    message: string,
    /** Which parameter or field it is about. */
    readonly field?: string,
  ) {
    super(message);
  }
}

/** What a refusal, and an error of the package, look like. */
export interface RefusalBody {
  readonly statusCode: number;
  /** Stable, for programs. */
  readonly code: string;
  /** For people. */
  readonly message: string;
  readonly field?: string;
}

export function bodyOf({ statusCode, code, message, field }: Refusal): RefusalBody {
  return { statusCode, code, message, ...(field !== undefined && { field }) };
}

export function invalid(field: string, message: string): Refusal {
  return new Refusal(400, 'INVALID_INPUT', message, field);
}

/** The verb was understood, and the run is not where it would be legal. */
const CONFLICTS: ReadonlySet<string> = new Set([
  'INVALID_TRANSITION',
  'NOT_PAUSED',
  'NOT_ONGOING',
  'ALREADY_RUNNING',
  'STEP_NOT_DEFINED',
  'WORKFLOW_DEFINITION',
  'LOCK_TIMEOUT',
]);
const INPUT: ReadonlySet<string> = new Set(['PAYLOAD_VALIDATION', 'UNSERIALIZABLE_VALUE']);

/** What an error means to whoever asked; undefined: nothing that they could do something about. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!(error instanceof WorkflowError)) return undefined;
  const { code, message } = error;
  if (code === 'WORKFLOW_NOT_FOUND') return new Refusal(404, code, message);
  if (code === 'PAYLOAD_TOO_LARGE') return new Refusal(413, code, message, 'payload');
  if (INPUT.has(code)) return new Refusal(400, code, message, (error as { field?: string }).field);
  if (CONFLICTS.has(code)) return new Refusal(409, code, message);
  return undefined;
}

/** What the application itself refuses, in what it is asked while a request is answered. Undefined: it does not. */
export function refusedByApplication(error: unknown): Refusal | undefined {
  if (!(error instanceof HttpException) || error.getStatus() < 400) return undefined;
  return new Refusal(error.getStatus(), 'REFUSED', error.message);
}
