import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { AdminAccess } from './admin-access.js';
import { paramOf, type PlatformRequest } from '../operating/platform-request.js';
import type { Answer } from './answering.js';
import { DashboardFiles, type DashboardFile } from './dashboard-files.js';
import { Refusal } from '../operating/refusal.js';

/** Nothing from elsewhere, no inline scripts, no frame of another site. Mantine puts styles into the page: hence `style-src`. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  // Where a link leads to another site, that learns of no run and no filter.
  'referrer-policy': 'no-referrer',
};
const NOT_BUILT =
  'This copy of nestjs-pg-workflows was built without its dashboard. In its repository `npm run build` builds both; where the API alone is wanted, ' +
  'dashboard: false of WorkflowAdminModule leaves the page out.';

/**
 * The dashboard: one page and its assets. All its URLs are relative, so it works wherever it is mounted, and behind proxies that strip a part of
 * the path. That takes an address which ends in a slash; one without is sent there, by a relative `Location` too.
 */
@Injectable()
export class Dashboard implements OnModuleInit {
  constructor(
    @Inject(AdminAccess) private readonly access: AdminAccess,
    @Inject(DashboardFiles) private readonly files: DashboardFiles,
  ) {}

  onModuleInit(): void {
    if (!this.files.page) new Logger('WorkflowAdmin').warn(NOT_BUILT);
  }

  /** @throws {Refusal} */
  async page(request: PlatformRequest): Promise<Answer> {
    const { path, query } = addressOf(request);
    if (!path.endsWith('/')) return redirectTo(`./${path.slice(path.lastIndexOf('/') + 1)}/${query}`);
    await this.access.assertMay(request, 'read', null);
    const { page } = this.files;
    if (!page) throw new Refusal(404, 'NO_DASHBOARD', NOT_BUILT);
    return sent(page, request, PAGE_HEADERS);
  }

  /** @throws {Refusal} */
  async asset(request: PlatformRequest): Promise<Answer> {
    const file = this.files.assets.get(paramOf(request, 'file'));
    if (!file) throw new Refusal(404, 'NO_SUCH_ROUTE', 'The dashboard has no such file: reload its page.');
    const headers = {
      'cache-control': file.isHashed ? 'private, max-age=31536000, immutable' : 'private, no-cache',
      etag: file.etag,
    };
    if (knows(request, file)) return { statusCode: 304, headers, content: Buffer.alloc(0) };
    return sent(file, request, headers);
  }
}

function addressOf({ originalUrl, url }: PlatformRequest): { path: string; query: string } {
  const text = originalUrl ?? url;
  const mark = text.indexOf('?');
  return mark < 0 ? { path: text, query: '' } : { path: text.slice(0, mark), query: text.slice(mark) };
}

/** Its body is for nobody: browsers follow it. */
function redirectTo(location: string): Answer {
  return { statusCode: 302, headers: { location }, content: Buffer.alloc(0) };
}

async function sent(file: DashboardFile, request: PlatformRequest, given: Record<string, string>): Promise<Answer> {
  const headers = { ...given, 'content-type': file.contentType, vary: 'accept-encoding' };
  const zipped = takesGzip(request) ? await file.gzipped() : null;
  if (zipped === null) return { headers, content: file.content };
  return { headers: { ...headers, 'content-encoding': 'gzip' }, content: zipped };
}

function takesGzip({ headers }: PlatformRequest): boolean {
  return /(^|,)\s*gzip\s*(;\s*q=(1|0\.0*[1-9])|,|$)/.test(String(headers['accept-encoding'] ?? ''));
}

/** Whether the browser has just this file. A proxy that compresses marks an `ETag` as weak. */
function knows({ headers }: PlatformRequest, { etag }: DashboardFile): boolean {
  const tags = String(headers['if-none-match'] ?? '').split(',');
  return tags.some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
