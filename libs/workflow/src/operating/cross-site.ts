import type { PlatformRequest } from './platform-request.js';

/**
 * Why a request that is to change something may come from a page of another site, in the browser of somebody who is logged in here; null: it does not.
 *
 * Browsers say where a request comes from, in headers that no page can set. `Sec-Fetch-Site` is sent over HTTPS (and to localhost); `Origin` with
 * every POST. A program that is no browser sends neither, and has no cookies that others could make it use.
 */
export function crossSiteProblem(
  request: PlatformRequest,
  allowedOrigins: ReadonlySet<string>,
  module: string,
): string | null {
  const { headers } = request;
  const origin = one(headers.origin);
  if (origin !== undefined && allowedOrigins.has(origin)) return null;
  const site = one(headers['sec-fetch-site']);
  if (site !== undefined) {
    if (site === 'same-origin' || site === 'none') return null;
    return `The request comes from a page of another site. Actions are taken from this site alone; "allowedOrigins" of ${module} names others.`;
  }
  // What the platform makes of Host and X-Forwarded-Host, where the application trusts its proxy.
  const hosts = [one(headers.host), request.host];
  if (origin === undefined || hosts.some((host) => host !== undefined && isOf(origin, host))) return null;
  return (
    'The request comes from a page of another host than the one asked. Behind a proxy that rewrites "Host", let it pass the header on, or name the ' +
    `origin in "allowedOrigins" of ${module}.`
  );
}

/**
 * Why a request comes from a browser's page that was not let in by name; null: it does not. For what no page is for: stricter than
 * {@link crossSiteProblem}, as a name that leads to this host today may have led elsewhere when the page was loaded (DNS rebinding), and such a page's
 * `Origin` has the host that was asked.
 */
export function pageProblem(
  { headers }: PlatformRequest,
  allowedOrigins: ReadonlySet<string>,
  module: string,
): string | null {
  const origin = one(headers.origin);
  if (origin === undefined ? headers['sec-fetch-site'] === undefined : allowedOrigins.has(origin)) return null;
  return `The request comes from a page in a browser. Only pages of the origins that "allowedOrigins" of ${module} names may ask here.`;
}

/** Origins leave the scheme's own port out, `Host` may have it. */
function isOf(origin: string, host: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host: ours } = new URL(origin);
  const asked = `${protocol}//${host}`;
  return URL.canParse(asked) && new URL(asked).host === ours;
}

function one(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.join(', ');
}
