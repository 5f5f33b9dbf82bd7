import type { WorkflowHandle } from './service/workflow.handle.js';

/** Stable, machine-readable names of this package's errors. */
export type WorkflowErrorCode =
  | 'WORKFLOW_DEFINITION'
  | 'WORKFLOW_CONFIGURATION'
  | 'WORKFLOW_SCHEMA'
  | 'ALREADY_RUNNING'
  | 'INVALID_TRANSITION'
  | 'NOT_PAUSED'
  | 'NOT_ONGOING'
  | 'WORKFLOW_NOT_FOUND'
  | 'NOT_IN_STEP'
  | 'STEP_NOT_DEFINED'
  | 'STEP_STALLED'
  | 'WAIT_TIMED_OUT'
  | 'STEP_TIMED_OUT'
  | 'FAN_OUT_FAILED'
  | 'STEP_WAITING'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSERIALIZABLE_VALUE'
  | 'PAYLOAD_VALIDATION'
  | 'LOCK_TIMEOUT';

/**
 * Base of every error this package throws on purpose. `code` is stable across versions; `message` says what happened, to
 * what, and what to do next.
 *
 * @example
 * ```ts
 * try {
 *   await workflows.start(OrderWorkflow, { subject: order });
 * } catch (error) {
 *   if (error instanceof WorkflowError) logger.warn(`${error.code}: ${error.message}`);
 * }
 * ```
 */
export abstract class WorkflowError extends Error {
  /** Which error it is: the same in every version of the package. */
  abstract readonly code: WorkflowErrorCode;

  /** @internal */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A workflow class that cannot be right: an unknown option, a bad value, two steps of one name. Thrown as the class loads or the app boots. */
export class WorkflowDefinitionError extends WorkflowError {
  readonly code = 'WORKFLOW_DEFINITION';
}

/** A setting, or the way the module is wired, cannot be right. */
export class WorkflowConfigurationError extends WorkflowError {
  readonly code = 'WORKFLOW_CONFIGURATION';
}

/**
 * The workflow tables are missing or older than the package, or made for newer versions alone. Names what is missing and the migration to run.
 */
export class WorkflowSchemaError extends WorkflowError {
  readonly code = 'WORKFLOW_SCHEMA';
}

/** The class already has an ongoing run for this subject. */
export class AlreadyRunningError extends WorkflowError {
  readonly code = 'ALREADY_RUNNING';

  /** @internal */
  constructor(
    message: string,
    /** The run that holds the subject's slot. */
    readonly run: WorkflowHandle,
  ) {
    super(message);
  }
}

/** A verb was called on a run whose status does not allow it. Nothing was changed. */
export class InvalidTransitionError extends WorkflowError {
  readonly code: 'INVALID_TRANSITION' | 'NOT_PAUSED' = 'INVALID_TRANSITION';

  /** @internal */
  constructor(
    message: string,
    /** The verb, as it stands in events and `availableActions` (`run_now`). */
    readonly verb: string,
    /** The run's status when the verb was refused. */
    readonly status: string,
    /** What the run's status does allow. */
    readonly allowed: readonly string[],
  ) {
    super(message);
  }
}

/** `resume` or `resumeAt` on a run that is not paused. */
export class NotPausedError extends InvalidTransitionError {
  override readonly code = 'NOT_PAUSED';
}

/** A signal for a run that has ended, or for a subject with no ongoing run. */
export class NotOngoingError extends WorkflowError {
  readonly code = 'NOT_ONGOING';
}

/** No run has this id. */
export class WorkflowNotFoundError extends WorkflowError {
  readonly code = 'WORKFLOW_NOT_FOUND';
}

/** A context was used after its attempt had ended, or a reader of the current step outside a step. */
export class NotInStepError extends WorkflowError {
  readonly code = 'NOT_IN_STEP';
}

/** A run stands on, or was sent to, a step that its class does not declare. */
export class StepNotDefinedError extends WorkflowError {
  readonly code = 'STEP_NOT_DEFINED';
}

/** A step was in progress for longer than allowed, or its worker is gone. */
export class StepStalledError extends WorkflowError {
  readonly code = 'STEP_STALLED';
}

/** A signal did not come before the wait's deadline. */
export class WaitTimedOutError extends WorkflowError {
  readonly code = 'WAIT_TIMED_OUT';
}

/** A body or a guard took longer than its time-out. */
export class StepTimedOutError extends WorkflowError {
  readonly code = 'STEP_TIMED_OUT';
}

/** A fan-out ended with dead-lettered members, or its batch is gone. */
export class FanOutFailedError extends WorkflowError {
  readonly code = 'FAN_OUT_FAILED';
}

/** A test helper met a step that waits. */
export class StepWaitingError extends WorkflowError {
  readonly code = 'STEP_WAITING';
}

/** Arguments, an output or a signal's payload are larger than `maxPayloadSize`. */
export class PayloadTooLargeError extends WorkflowError {
  readonly code = 'PAYLOAD_TOO_LARGE';
}

/** A value that cannot be stored and read back as it was. The message names the path to it. */
export class UnserializableValueError extends WorkflowError {
  readonly code = 'UNSERIALIZABLE_VALUE';
}

/** Arguments or a payload do not fit their DTO, or a key is blank, too long or has a NUL character. */
export class PayloadValidationError extends WorkflowError {
  readonly code = 'PAYLOAD_VALIDATION';
}

/** A verb with `lockTimeout` could not have the run's lock in that time. Nothing was changed. */
export class LockTimeoutError extends WorkflowError {
  readonly code = 'LOCK_TIMEOUT';
}
