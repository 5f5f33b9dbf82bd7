import type { RunRow } from '../store/run.js';
import type { AdminAction, AdminRun, CheckedAccess } from './access.options.js';
import type { PlatformRequest } from './platform-request.js';
import { Refusal } from './refusal.js';

/** An actor is at most 255 characters long, what is before its name included. */
const MAX_NAME = 245;

/** Who asks, and whether they may: what the application says. */
export class Access {
  constructor(
    /** Named in errors: `WorkflowAdminModule`. */
    protected readonly module: string,
    /** What is before a name on the audit trail, and alone where there is none: `dashboard`. */
    private readonly by: string,
    private readonly callbacks: Pick<CheckedAccess, 'actor' | 'can'>,
  ) {}

  /** @throws {Refusal} 403 */
  async assertMay(request: PlatformRequest, action: AdminAction, run: AdminRun | null): Promise<void> {
    const { can } = this.callbacks;
    const may: unknown = can ? await can(request, action, run) : true;
    if (may === true) return;
    // An Observable, a list of roles: taken as it is, each would be a yes.
    if (may !== false && may != null) {
      throw new TypeError(
        `"can" of ${this.module} answered ${typeof may === 'object' ? 'an object' : typeof may}; it answers true or false`,
      );
    }
    const what = action === 'read' ? 'see this' : `"${action}" ${run ? 'this run' : 'runs'}`;
    throw new Refusal(403, 'FORBIDDEN', `You may not ${what}: ask whoever grants roles in this application.`);
  }

  /**
   * As it stands on the audit trail.
   *
   * @param otherwise the name when the application tells none
   */
  async actorOf(request: PlatformRequest, otherwise = ''): Promise<string> {
    const name = cleaned(await this.callbacks.actor?.(request)) || cleaned(otherwise);
    return name === '' ? this.by : `${this.by}:${Array.from(name).slice(0, MAX_NAME).join('')}`;
  }
}

function cleaned(name: unknown): string {
  return typeof name === 'string' ? name.replace(/\p{Surrogate}|\0/gu, '\uFFFD').trim() : '';
}

export function adminRunOf(row: RunRow): AdminRun {
  const { id, workflow_class, status, current_step, subject_type, subject_id } = row;
  const subject = subject_type === null || subject_id === null ? null : { type: subject_type, id: subject_id };
  return { id, class: workflow_class, status, step: current_step, subject };
}
