import { Access } from '../operating/access.js';
import { crossSiteProblem } from '../operating/cross-site.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { Refusal } from '../operating/refusal.js';
import { ADMIN, type AdminCallbacks } from './admin.options.js';
import { subjectUrlOf } from './subject-url.js';

/** Who asks, and whether they may: what the application says. Injection token too. */
export class AdminAccess extends Access {
  constructor(private readonly checked: AdminCallbacks) {
    super(ADMIN, 'dashboard', checked);
  }

  /** @throws {Refusal} 403 for what a page of another site sent */
  assertOwnSite(request: PlatformRequest): void {
    const problem = crossSiteProblem(request, this.checked.allowedOrigins, this.module);
    if (problem !== null) throw new Refusal(403, 'CROSS_SITE', problem);
  }

  /** Where the subject has its page; null: nowhere that a link may lead to. */
  subjectUrl(subject: { type: string; id: string } | null): string | null {
    return subjectUrlOf(this.checked.subjectUrl, subject);
  }
}
