import type { WorkflowAdminCallbacks } from './admin.options.js';

/**
 * Where a subject has its page, by what the application's `subjectUrl` says; null when that is nothing a link may lead to. The application's code may
 * throw: the page works without the link.
 */
export function subjectUrlOf(
  subjectUrl: WorkflowAdminCallbacks['subjectUrl'],
  subject: { type: string; id: string } | null,
): string | null {
  if (!subjectUrl || !subject) return null;
  try {
    const given: unknown = subjectUrl(subject.type, subject.id);
    if (typeof given === 'string') return isLink(given) ? given : null;
    // Nobody waits for a promise: its rejection must not end the process.
    if (given instanceof Promise) given.catch(() => undefined);
    return null;
  } catch {
    return null;
  }
}

/** Browsers read `/\host` and `/<tab>/host` as `//host`, which is another site. */
function isLink(url: string): boolean {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\0-\x20\x7f\\]/.test(url)) return false;
  if (/^\/(?!\/)/.test(url)) return true;
  return /^https?:\/\//i.test(url) && URL.canParse(url);
}
