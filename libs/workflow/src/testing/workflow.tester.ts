import type { INestApplicationContext } from '@nestjs/common';
import type { SignalDefinition } from '../definition/signal.js';
import { AttemptRunner } from '../engine/attempt-runner.js';
import { ENGINE_PARTS, type EngineParts } from '../engine/engine.parts.js';
import { fireDeadline } from '../engine/deadline.js';
import { claimGuarded } from '../engine/guarded-claim.js';
import { InvalidTransitionError, StepWaitingError } from '../errors.js';
import { availableActions } from '../model/states.js';
import type { WorkflowHandle } from '../service/workflow.handle.js';
import type { SignalOptions } from '../service/signaller.js';
import { completeMembers } from '../store/members.js';
import { currentRow, runById, type RunRow, type StepRow } from '../store/run.js';
import { joinBatch } from '../transition/batches.js';

/**
 * Drives runs by hand, in tests of an application that was built with `worker: false`: steps run inline, through the same claim,
 * guards, gate, policies and outcomes as a worker's, on the test's database. Waits are not waited for.
 *
 * @example
 * ```ts
 * const flows = createWorkflowTester(moduleRef);
 * const run = await workflows.start(SignupWorkflow, { subject: user });
 * await flows.runStepInline(run, 'welcome');
 * await flows.speedrun(run);
 * expect(run.status).toBe('finished');
 * ```
 */
export class WorkflowTester {
  private readonly runner: AttemptRunner;

  /** @internal */
  constructor(private readonly parts: EngineParts) {
    this.runner = new AttemptRunner(parts);
  }

  /**
   * Runs the run's next attempt, whatever its `wait`.
   *
   * @param run its handle, which is brought up to date
   * @throws {InvalidTransitionError} when the run is not ready; its message says what it is doing
   */
  async performNextStep(run: WorkflowHandle): Promise<WorkflowHandle> {
    const now = await this.look(run);
    this.assertReady(now, 'performNextStep');
    return this.perform(run, now.row);
  }

  /**
   * Runs that step if it is next.
   *
   * @param run its handle, which is brought up to date
   * @param step the name of the step that is to be next
   * @throws {InvalidTransitionError} when another step is next, or none: nothing was run
   */
  async runStepInline(run: WorkflowHandle, step: string): Promise<WorkflowHandle> {
    const now = await this.look(run);
    this.assertReady(now, `runStepInline("${step}")`);
    if (now.row.step_name !== step) throw this.unfit(now, `runStepInline("${step}")`);
    return this.perform(run, now.row);
  }

  /**
   * Runs step after step until the run is not ready any more: paused, finished or cancelled.
   *
   * @param run its handle, which is brought up to date
   * @throws {StepWaitingError} when it waits, naming the signal or the batch
   */
  async speedrun(run: WorkflowHandle): Promise<WorkflowHandle> {
    for (;;) {
      const now = await this.look(run);
      if (now.run.status === 'waiting') throw new StepWaitingError(this.doing(now));
      if (now.run.status !== 'ready') return run.reload();
      await this.perform(run, now.row);
    }
  }

  /**
   * Marks every member of the batch that the run waits on as completed, without running it, and ends the step.
   *
   * @param run its handle, which is brought up to date
   * @throws {InvalidTransitionError} when the run does not wait on a batch
   */
  async completeFanOut(run: WorkflowHandle): Promise<WorkflowHandle> {
    const now = await this.look(run);
    if (now.row.status !== 'waiting' || now.row.batch_size === null) throw this.unfit(now, 'completeFanOut');
    const { database, registry, settings } = this.parts;
    const joined = await database.transaction(async (transaction) => {
      await completeMembers(transaction.connection, now.row.id);
      return joinBatch(transaction, { id: now.row.id, workflowId: run.id }, (workflow) => registry.require(workflow), {
        defaultQueue: settings.queue,
        errorBacktraceLines: settings.errorBacktraceLines,
      });
    });
    if (joined?.report) await this.runner.report(joined.report.error, joined.report.context);
    return run.reload();
  }

  /**
   * Signals the run and, when that woke its step, runs it. A signal that wakes nothing stays pending.
   *
   * @param run its handle, which is brought up to date
   * @param signal its name, or what `defineSignal` made
   * @param payload stored with it; default `{}`
   * @param options as for `run.signal`
   */
  async deliverSignal<Payload>(
    run: WorkflowHandle,
    signal: string | SignalDefinition<Payload>,
    payload?: Payload,
    options?: SignalOptions,
  ): Promise<WorkflowHandle> {
    const before = await this.look(run);
    await run.signal(signal, payload, options);
    const now = await this.look(run);
    const woken = before.row.status === 'waiting' && now.row.id === before.row.id && now.run.status === 'ready';
    return woken ? this.perform(run, now.row) : run.reload();
  }

  /**
   * Applies the waiting step's `onTimeout` now, whatever its deadline, also without one. Under `notify` the step goes on waiting.
   *
   * @param run its handle, which is brought up to date
   * @throws {InvalidTransitionError} when the run does not wait for a signal
   */
  async expireWait(run: WorkflowHandle): Promise<WorkflowHandle> {
    const now = await this.look(run);
    if (now.run.status !== 'waiting' || now.row.batch_size !== null) throw this.unfit(now, 'expireWait');
    const { fired, report } = await fireDeadline(
      this.parts,
      { id: now.row.id, workflowId: run.id },
      { evenIfNotDue: true },
    );
    if (!fired) throw this.unfit(now, 'expireWait');
    if (report) await this.runner.report(report.error, report.context);
    return run.reload();
  }

  private async perform(run: WorkflowHandle, row: StepRow): Promise<WorkflowHandle> {
    const claimed = await claimGuarded(this.parts, { id: row.id, workflowId: run.id }, { evenIfNotDue: true });
    if (claimed.kind === 'started') await this.runner.run({ attempt: claimed.attempt, context: claimed.context });
    if (claimed.kind === 'threw') {
      const { attempt, context, error } = claimed;
      await this.runner.run({ attempt, context, failure: { error } });
    }
    if (claimed.kind === 'ended' && claimed.report) {
      await this.runner.report(claimed.report.error, claimed.report.context);
    }
    if (claimed.kind === 'dropped') {
      const now = await this.look(run);
      throw new Error(
        `Step "${row.step_name}" of workflow ${run.id} could not be claimed: somebody else holds the run, or its class is not loaded ` +
          `here. Build the application under test with worker: false. ${this.doing(now)}`,
      );
    }
    return run.reload();
  }

  private async look(run: WorkflowHandle): Promise<{ run: RunRow; row: StepRow }> {
    return this.parts.database.connect(async (connection) => {
      const found = await runById(connection, run.id);
      const row = found && (await currentRow(connection, found));
      if (!found || !row) throw new Error(`There is no workflow ${run.id}`);
      return { run: found, row };
    });
  }

  private assertReady(now: { run: RunRow; row: StepRow }, helper: string): void {
    if (now.run.status !== 'ready') throw this.unfit(now, helper);
  }

  private unfit(now: { run: RunRow; row: StepRow }, helper: string): InvalidTransitionError {
    const { status } = now.run;
    return new InvalidTransitionError(
      `${helper} does not fit: ${this.doing(now)}`,
      helper,
      status,
      availableActions(status),
    );
  }

  private doing({ run, row }: { run: RunRow; row: StepRow }): string {
    const name = `Workflow ${run.id} (${run.workflow_class})`;
    if (run.status === 'waiting') {
      return row.batch_size === null
        ? `${name} waits at step "${row.step_name}" for the signal "${row.wait_for}".`
        : `${name} waits at step "${row.step_name}" for its batch of ${row.batch_size} jobs.`;
    }
    return `${name} is ${run.status}${run.status === 'ready' ? `, and step "${row.step_name}" is next` : ` at step "${row.step_name}"`}.`;
  }
}

/**
 * Test helpers for the workflows of an application.
 *
 * @param app a testing module, or an application, with `WorkflowModule.forRoot({ worker: false })`
 * @throws an Error when the application executes steps itself: the two would race
 */
export function createWorkflowTester(app: Pick<INestApplicationContext, 'get'>): WorkflowTester {
  const parts = app.get<EngineParts>(ENGINE_PARTS, { strict: false });
  if (parts.settings.worker) {
    throw new Error(
      'createWorkflowTester: this application has a worker, which would run the steps before the test does. Build it with ' +
        'WorkflowModule.forRoot({ worker: false }).',
    );
  }
  return new WorkflowTester(parts);
}
