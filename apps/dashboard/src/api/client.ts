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
    if (init.signal?.aborted) throw error;
    throw new ApiError(
      0,
      'The server cannot be reached, or you are no longer logged in. Reload the page to see which.',
    );
  }
  const body = (await response.json().catch(() => null)) as { message?: string; field?: string } | null;
  if (body !== null && (response.ok || accepted.includes(response.status))) return body as T;
  throw new ApiError(response.status, body?.message ?? `The server answered ${response.status}.`, body?.field ?? null);
}

/** Reads. */
export function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return send<T>(urlOf(path, query), signal ? { signal } : {}, []);
}

/** Acts. 409 is an answer too: nothing was done, and it says why. */
export function post<T>(path: string, body: object): Promise<T> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return send<T>(urlOf(path), init, [409]);
}
