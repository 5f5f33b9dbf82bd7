import { validate } from 'class-validator';
import type { AdminRequest } from './admin-request.js';
import { queryOf } from './admin-request.js';
import { fieldsOf } from './input-field.js';
import { invalid, Refusal } from './refusal.js';

type Dto<T extends object> = new () => T;

/**
 * The query, checked. It is read from the URL itself, so that no pipe or query parser of the application's has a say. A blank parameter is none.
 *
 * @throws {Refusal} 400, naming the parameter
 */
export async function readQuery<T extends object>(dto: Dto<T>, request: AdminRequest): Promise<T> {
  const given = new Map<string, string>();
  for (const [name, value] of queryOf(request)) {
    if (given.has(name)) throw invalid(shortened(name), `${shortened(name)} is given twice.`);
    given.set(name, value);
  }
  for (const [name, value] of given) if (fieldsOf(dto).has(name) && value.trim() === '') given.delete(name);
  return checked(dto, given, 'query parameter');
}

/**
 * The body, checked.
 *
 * @throws {Refusal} 415 when it is not JSON, which is what a form of another site would send; 400, naming the field
 */
export async function readBody<T extends object>(dto: Dto<T>, request: AdminRequest): Promise<T> {
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
  return checked(dto, new Map(Object.entries(given)), 'field');
}

async function checked<T extends object>(
  dto: Dto<T>,
  given: ReadonlyMap<string, unknown>,
  kind: 'query parameter' | 'field',
): Promise<T> {
  const known = fieldsOf(dto);
  for (const name of given.keys()) {
    if (known.has(name)) continue;
    const name100 = shortened(name);
    throw invalid(name100, `There is no ${kind} "${name100}"; there are: ${[...known.keys()].join(', ')}.`);
  }
  // Not `plainToInstance`: values are what JSON or a query makes them, and a payload is not to be copied.
  const instance = Object.assign(new dto(), Object.fromEntries(given));
  const [problem] = await validate(instance, {
    stopAtFirstError: true,
    forbidUnknownValues: false,
    validationError: { target: false, value: false },
  });
  if (!problem) return instance;
  throw invalid(problem.property, `${Object.values(problem.constraints ?? {})[0] ?? `${problem.property} is wrong`}.`);
}

function hasBody({ headers, httpVersionMajor, raw, body }: AdminRequest): boolean {
  // HTTP/2 has frames, and needs neither header.
  if ((raw?.httpVersionMajor ?? httpVersionMajor ?? 1) >= 2) return body !== undefined;
  return headers['transfer-encoding'] !== undefined || !/^0*$/.test(String(headers['content-length'] ?? ''));
}

function shortened(name: string): string {
  return name.length > 100 ? `${name.slice(0, 99)}…` : name;
}
