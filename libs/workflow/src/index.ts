/**
 * Durable workflows for NestJS on PostgreSQL.
 *
 * @module nestjs-pg-workflows
 */

export { WorkflowModule, type WorkflowModuleAsyncOptions, type WorkflowOptionsFactory } from './workflow.module.js';
export type { StallAction, WorkerOptions, WorkflowModuleOptions } from './workflow.options.js';

export {
  WorkflowAdminModule,
  type WorkflowAdminAsyncOptions,
  type WorkflowAdminOptionsFactory,
} from './admin/workflow-admin.module.js';
export type { AdminAction, AdminRun } from './operating/access.options.js';
export type { WorkflowAdminCallbacks, WorkflowAdminOptions, WorkflowAdminRoutes } from './admin/admin.options.js';

export {
  CancelIf,
  FanOut,
  OnException,
  RemovedStep,
  Step,
  SubjectLoader,
  Workflow,
  WorkflowJob,
} from './definition/decorators.js';
export { fanOut, removedStep, step } from './definition/step.js';
export { defineSignal, matcher } from './definition/signal.js';
export {
  FanOutBatch,
  JobContext,
  StepContext,
  WorkflowOf,
  type ArgsOf,
  type Ctx,
  type JobHandler,
  type Received,
  type SubjectInput,
  type SubjectOf,
} from './definition/context.js';
export type { Callable } from './definition/callable.js';
export type { BatchFailureAction, TimeoutAction } from './definition/definition.js';
export type { Duration } from './definition/duration.js';
export type { FanOutJobOptions, JobOptions } from './definition/job-options.js';
export type { WorkflowJobOptions } from './definition/job.js';
export type { WorkflowOptions } from './definition/layers.js';
export type { ExceptionPolicyOptions } from './definition/policy-options.js';
export type { ReceivedSignal, SignalDefinition, SignalMatcher, WaitFor } from './definition/signal.js';
export type { FanOutOptions, StepOptions } from './definition/step-options.js';
export type { LoadsSubject } from './definition/subject-loader.js';

export { WorkflowHealthIndicator, type WorkflowHealth } from './workflow.health.js';
export { WorkflowService, type StartOptions, type WorkflowType } from './service/workflow.service.js';
export { WorkflowHandle, type ReadOptions } from './service/workflow.handle.js';
export type { SignalOptions } from './service/signaller.js';
export type { DeliveredSignal, EventRecord, SignalRecord, StepError, StepRecord } from './service/records.js';
export type { By, VerbOptions } from './transition/by.js';

export { WorkflowEntities } from './store/tables.js';
export { WorkflowEvent } from './model/workflow-event.entity.js';
export { WorkflowRun } from './model/workflow-run.entity.js';
export { WorkflowSignal } from './model/workflow-signal.entity.js';
export { WorkflowStep } from './model/workflow-step.entity.js';
export type { EventName, RunStatus, SignalStatus, StepOutcome, StepStatus, Verb } from './model/states.js';

export { currentStep, type CurrentStep } from './observe/current-step.js';
export { StepLogger, stepLogFields, type StepLogFields } from './observe/log.js';
export {
  onWorkflowMessage,
  type StallDetectedMessage,
  type StallDetection,
  type WaitTimedOutMessage,
  type WorkflowCancelledMessage,
  type WorkflowChannel,
  type WorkflowFinishedMessage,
  type WorkflowGaugeMessage,
  type WorkflowMessages,
  type WorkflowPausedMessage,
  type WorkflowSignalMessage,
  type WorkflowStartedMessage,
  type WorkflowStepMessage,
} from './observe/channels.js';
export type { ErrorContext, ErrorReporter } from './observe/error-reporter.js';
export type {
  MetricsOptions,
  OpenTelemetryOptions,
  PrometheusMetricsOptions,
  StatsDClient,
} from './observe/metrics-options.js';

export * from './errors.js';
