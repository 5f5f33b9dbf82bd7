import { JobContext, type JobHandler } from '../definition/context.js';
import { jobBackoff, type JobDefinition } from '../definition/job.js';
import { captureError } from '../model/error-record.js';
import { deserialize, deserializeNow, needsLoading } from '../model/payload.js';
import type { RunStatus } from '../model/states.js';
import { runInStep } from '../observe/current-step.js';
import type { LoadedJob, WorkflowRegistry } from '../registry/workflow.registry.js';
import type { ClaimedMember } from '../store/claim.js';
import type { MemberEnd } from '../store/members.js';
import { runStatus } from '../store/run.js';
import { Abortable } from './abortable.js';
import type { EngineParts } from './engine.parts.js';

/** One try of a fan-out's member that this process holds: its row is in progress under our claim. */
export class Member extends Abortable {
  constructor(
    readonly job: LoadedJob,
    readonly row: {
      readonly id: string;
      readonly workflowId: string;
      readonly workflowName: string;
      readonly stepName: string;
      readonly claimNo: number;
      /** 1 for its first try. */
      readonly attempt: number;
      /** As stored. */
      readonly args: unknown;
    },
  ) {
    super();
  }

  get label(): string {
    return `job ${this.job.definition.name} of workflow ${this.row.workflowId}`;
  }
}

/** The try that the claim of this row made. */
export function memberOf(registry: WorkflowRegistry, row: ClaimedMember): Member {
  return new Member(registry.job(row.handler)!, {
    id: row.id,
    workflowId: row.workflow_id,
    workflowName: row.workflow_class,
    stepName: row.step_name,
    claimNo: row.claim_no,
    attempt: row.job_attempt,
    args: row.job_args,
  });
}

/** Runs a member's handler. It completes, is tried again, or (its attempts spent) is dead-lettered. */
export async function runMember(parts: EngineParts, member: Member): Promise<MemberEnd> {
  const { row, job } = member;
  const current = {
    workflowId: row.workflowId,
    workflowName: row.workflowName,
    stepName: row.stepName,
    attempt: row.attempt,
  };
  const end = { id: row.id, claimNo: row.claimNo, wait: 0, error: null };
  try {
    const load = (reference: { type: string; id: string }) => parts.subjects.load(reference);
    const args = needsLoading(row.args) ? await deserialize(row.args, { load }) : deserializeNow(row.args);
    const handler = job.instance as JobHandler;
    await runInStep(current, () => handler.perform(args, new LiveJobContext(member, parts)));
    return { ...end, status: 'completed' };
  } catch (error) {
    return { ...end, ...afterTry(job.definition, row.attempt), error: record(parts, error) };
  }
}

/** What follows a try that did not complete: another one, while there are attempts left. */
export function afterTry(job: JobDefinition, attempt: number): { status: 'scheduled' | 'failed'; wait: number } {
  if (attempt >= job.maxAttempts) return { status: 'failed', wait: 0 };
  try {
    return { status: 'scheduled', wait: jobBackoff(job, attempt) };
  } catch {
    // A backoff function that gives no duration: what it should have been is anybody's guess, so the member is not tried for ever.
    return { status: 'failed', wait: 0 };
  }
}

function record({ settings }: EngineParts, error: unknown) {
  return captureError(error, { backtraceLines: settings.errorBacktraceLines });
}

class LiveJobContext extends JobContext {
  constructor(
    private readonly member: Member,
    private readonly parts: EngineParts,
  ) {
    super();
  }

  get id(): string {
    return this.member.row.id;
  }

  get attempt(): number {
    return this.member.row.attempt;
  }

  get abortSignal(): AbortSignal {
    return this.member.abortSignal;
  }

  get workflowId(): string {
    return this.member.row.workflowId;
  }

  runStatus(): Promise<RunStatus | null> {
    return this.parts.database.connect((connection) => runStatus(connection, this.workflowId));
  }
}
