/** The API did not do what was asked, and says why. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Which parameter or field it is about. */
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

/** A page that is read tells when no answer comes for so long; what acts is waited for. */
const PATIENCE_MS = 30_000;

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Whatever path the page is mounted at, the API is below it. */
function urlOf(path: string, query: Query = {}): URL {
  const url = new URL(`api/${path}`, document.baseURI);
  url.hash = '';
  url.search = '';
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url;
}

async function send<T>(url: URL, init: RequestInit, accepted: readonly number[]): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: 'same-origin', redirect: 'error' });
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') {
      throw new ApiError(
        0,
        `The server has not answered for ${PATIENCE_MS / 1_000} seconds: it, or its database, may be busy or away.`,
      );
    }
    if (init.signal?.aborted) throw error;
    throw new ApiError(
      0,
      'The server cannot be reached, or you are no longer logged in. Reload the page to see which.',
    );
  }
  if (response.status === 401) throw new ApiError(401, 'You are no longer logged in. Reload the page to log in again.');
  const body = (await response.json().catch(() => null)) as { message?: string; field?: string } | null;
  if (body !== null && (response.ok || accepted.includes(response.status))) return body as T;
  if (response.ok) {
    throw new ApiError(
      response.status,
      'Something else than this page’s server answered: you may no longer be logged in. Reload the page to see.',
    );
  }
  throw new ApiError(response.status, body?.message ?? `The server answered ${response.status}.`, body?.field ?? null);
}

/** Reads. */
export function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  return send<T>(urlOf(path, query), { signal: signal ? AbortSignal.any([signal, patience]) : patience }, []);
}

/** Acts. 409 is an answer too: nothing was done, and it says why. */
export function post<T>(path: string, body: object): Promise<T> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return send<T>(urlOf(path), init, [409]);
}
