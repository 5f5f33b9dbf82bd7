import type { RunRow } from '../store/run.js';
import type { AdminRequest } from './admin-request.js';
import type { AdminAction, AdminCallbacks, AdminRun } from './admin.options.js';
import { crossSiteProblem } from './cross-site.js';
import { Refusal } from './refusal.js';
import { subjectUrlOf } from './subject-url.js';

/** An actor is at most this long, `dashboard:` included. */
const MAX_NAME = 245;

/** Who asks, and whether they may: what the application says. Injection token too. */
export class AdminAccess {
  constructor(private readonly callbacks: AdminCallbacks) {}

  /** @throws {Refusal} 403 */
  async assertMay(request: AdminRequest, action: AdminAction, run: AdminRun | null): Promise<void> {
    const { can } = this.callbacks;
    const may: unknown = can ? await can(request, action, run) : true;
    if (may === true) return;
    // An Observable, a list of roles: taken as it is, each would be a yes.
    if (may !== false && may != null) {
      throw new TypeError(
        `"can" of WorkflowAdminModule answered ${typeof may === 'object' ? 'an object' : typeof may}; it answers true or false`,
      );
    }
    const what = action === 'read' ? 'see this' : `"${action}" ${run ? 'this run' : 'runs'}`;
    throw new Refusal(403, 'FORBIDDEN', `You may not ${what}: ask whoever grants roles in this application.`);
  }

  /** @throws {Refusal} 403 for what a page of another site sent */
  assertOwnSite(request: AdminRequest): void {
    const problem = crossSiteProblem(request, this.callbacks.allowedOrigins);
    if (problem !== null) throw new Refusal(403, 'CROSS_SITE', problem);
  }

  /** Where the subject has its page; null: nowhere that a link may lead to. */
  subjectUrl(subject: { type: string; id: string } | null): string | null {
    return subjectUrlOf(this.callbacks.subjectUrl, subject);
  }

  /** As it stands on the audit trail. */
  async actorOf(request: AdminRequest): Promise<string> {
    const given: unknown = await this.callbacks.actor?.(request);
    const name = typeof given === 'string' ? given.replace(/\p{Surrogate}|\0/gu, '\uFFFD').trim() : '';
    return name === '' ? 'dashboard' : `dashboard:${Array.from(name).slice(0, MAX_NAME).join('')}`;
  }
}

export function adminRunOf(row: RunRow): AdminRun {
  const { id, workflow_class, status, current_step, subject_type, subject_id } = row;
  const subject = subject_type === null || subject_id === null ? null : { type: subject_type, id: subject_id };
  return { id, class: workflow_class, status, step: current_step, subject };
}
