import { checkedInput, shortened } from '../operating/checked-input.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { queryOf } from '../operating/platform-request.js';
import { fieldsOf } from '../operating/input-field.js';
import { invalid, Refusal } from '../operating/refusal.js';

type Dto<T extends object> = new () => T;

/**
 * The query, checked. It is read from the URL itself, so that no pipe or query parser of the application's has a say. A blank parameter is none.
 *
 * @throws {Refusal} 400, naming the parameter
 */
export async function readQuery<T extends object>(dto: Dto<T>, request: PlatformRequest): Promise<T> {
  const given = new Map<string, string>();
  for (const [name, value] of queryOf(request)) {
    if (given.has(name)) throw invalid(shortened(name), `${shortened(name)} is given twice.`);
    given.set(name, value);
  }
  for (const [name, value] of given) if (fieldsOf(dto).has(name) && value.trim() === '') given.delete(name);
  return checkedInput(dto, given, 'query parameter');
}

/**
 * The body, checked.
 *
 * @throws {Refusal} 415 when it is not JSON, which is what a form of another site would send; 400, naming the field
 */
export async function readBody<T extends object>(dto: Dto<T>, request: PlatformRequest): Promise<T> {
  const { body, headers } = request;
  if (!/^application\/json\s*(;|$)/i.test(String(headers['content-type'] ?? ''))) {
    throw new Refusal(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the body as JSON, with "content-type: application/json"; {} when there is nothing to say.',
    );
  }
  if (!hasBody(request)) {
    // Express makes {} of nothing, Fastify refuses it: nobody is to find out on the day when the platform changes.
    throw new Refusal(400, 'INVALID_INPUT', 'There is no body; send {} when there is nothing to say.');
  }
  if (body === undefined) {
    throw new Refusal(
      400,
      'INVALID_INPUT',
      'The application did not parse the JSON body: it was made with "bodyParser: false", or leaves these routes out.',
    );
  }
  const given: unknown = body;
  if (typeof given !== 'object' || given === null || Array.isArray(given) || Buffer.isBuffer(given)) {
    throw new Refusal(400, 'INVALID_INPUT', 'The body must be a JSON object.');
  }
  return checkedInput(dto, new Map(Object.entries(given)), 'field');
}

function hasBody({ headers, httpVersionMajor, raw, body }: PlatformRequest): boolean {
  // HTTP/2 has frames, and needs neither header.
  if ((raw?.httpVersionMajor ?? httpVersionMajor ?? 1) >= 2) return body !== undefined;
  return headers['transfer-encoding'] !== undefined || !/^0*$/.test(String(headers['content-length'] ?? ''));
}
