/** What Express's and Fastify's requests have in common, as far as it is read. */
export interface PlatformRequest {
  readonly method: string;
  /** Express: without the prefix that a router was mounted at. */
  readonly url: string;
  /** As it was sent: Express's and Fastify's both. */
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly params: unknown;
  readonly body?: unknown;
  /** With regard to the proxies that the application trusts. */
  readonly host?: string;
  readonly httpVersionMajor?: number;
  /** Node's own, in Fastify's. */
  readonly raw?: { readonly httpVersionMajor?: number };
}

/** The query's parameters. Not the platform's reading of them: that depends on the application's settings. */
export function queryOf({ originalUrl, url }: PlatformRequest): URLSearchParams {
  const text = originalUrl ?? url;
  const mark = text.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1));
}

/** A parameter of the path; one that is not there is an empty text, which names nothing. */
export function paramOf({ params }: PlatformRequest, name: string): string {
  const value = (params as Record<string, unknown> | null)?.[name];
  return typeof value === 'string' ? value : '';
}
