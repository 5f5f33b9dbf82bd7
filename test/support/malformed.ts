import * as fc from 'fast-check';

/** A request that must not do anything. */
export interface MalformedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Runs that there are, and what they are in. */
export interface Victims {
  readonly ready: string;
  readonly paused: string;
  readonly finished: string;
}

const VERBS = ['pause', 'resume', 'resume-at', 'run-now', 'reschedule', 'skip', 'signal', 'rerun', 'cancel'];
const PARAMETERS = ['state', 'class', 'step', 'error_class', 'subject_type', 'subject_id', 'id', 'created_from', 'created_to', 'ended_from', 'ended_to', 'stuck_reason', 'cursor', 'limit', 'window']; // prettier-ignore
const FIELDS = ['reason', 'expected_status', 'step', 'at', 'name', 'payload', 'idempotency_key', 'class', 'stuck_reason', 'error_class']; // prettier-ignore
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'actor',
  'manager',
  '$where',
  '<b>',
  'a\0b',
  '',
];

const NASTY = [
  "'; drop table workflows; --",
  "' or '1'='1",
  '" or 1=1 --',
  '\\',
  '%',
  '$1',
  '<script>alert(1)</script>',
  '</title><img src=x onerror=alert(1)>',
  'javascript:alert(1)',
  '{{7*7}}${7*7}',
  'a\0b',
  '\u0000',
  '\ud800',
  '\u202e\u2028\ufeff',
  '../../../etc/passwd',
  '__proto__',
  'null',
  'NaN',
  'true',
  '-1',
  '1e309',
  '99999999999999999999999999',
  '2026-02-30T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  'x'.repeat(300),
  '😀'.repeat(300),
  Buffer.from('runs 2026-01-01 not-a-uuid').toString('base64url'),
  Buffer.from('{"__proto__":1}').toString('base64url'),
];

const nasty = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.base64String({ maxLength: 80 }),
);
const wrongValue = fc.oneof(
  fc.constantFrom<unknown>(0, -1, 1e308, 2 ** 53, true, [], [[]], {}, { $ne: null }, ['a', 'b'], [{}]),
  fc.jsonValue({ maxDepth: 3 }),
);
const encoded = nasty.map((text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD')));
const JSON_TYPE = { 'content-type': 'application/json' };

/** Bodies that no parser or no verb can make sense of. */
const nonsense = fc.oneof(
  nasty.map((text) => `${text}{`),
  fc.constantFrom('', '{', '[', '"', '{"a":}', '{"reason":"x"', 'undefined', "{'reason':'x'}", '{"reason":1e}', '\ufeff{', '[1,2', '7', '"x"', '[]', '[{}]', 'null', 'true'), // prettier-ignore
  // JSON bombs: deep, wide, long.
  fc.constantFrom(
    '['.repeat(20_000) + ']'.repeat(20_000),
    `{"payload":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)},"name":"x"}`,
    `{${Array.from({ length: 5_000 }, (_, n) => `"k${n}":${n}`).join()}}`,
    `{"reason":"${'x'.repeat(90_000)}"}`,
    `{"reason":${'9'.repeat(50_000)}}`,
  ),
  fc.constantFrom('{"__proto__":{"reason":"x"}}', '{"constructor":{"prototype":{"a":1}}}', '{"name":"x","payload":{"__proto__":{"a":1}},"expected_status":"finished"}'), // prettier-ignore
);

const action = ({ ready, paused, finished }: Victims) =>
  fc.oneof(
    fc
      .tuple(fc.constantFrom(ready, paused, finished), fc.constantFrom(...VERBS))
      .map(([id, verb]) => `runs/${id}/${verb}`),
    fc.constantFrom('attention/resume', 'attention/cancel'),
  );

const read = ({ ready, paused, finished }: Victims) =>
  fc.oneof(
    fc.constantFrom('runs', 'attention', 'definitions', 'summary'),
    fc.constantFrom(ready, paused, finished).map((id) => `runs/${id}/events`),
    fc.constantFrom(ready, paused, finished).map((id) => `runs/${id}`),
    encoded.map((name) => `definitions/${name}`),
  );

const post = (path: string, body: string, headers: Record<string, string> = JSON_TYPE): MalformedRequest => ({
  method: 'POST',
  path,
  headers,
  body,
});

/** Requests each of which has something wrong with it: nobody may be harmed by any of them. */
export function malformedRequest(victims: Victims): fc.Arbitrary<MalformedRequest> {
  const valid = JSON.stringify({ reason: 'it would be done, were it not for the rest' });
  const noRun = encoded.filter((id) => id !== '.' && id !== '..');
  return fc.oneof(
    // Reads with any query.
    fc
      .tuple(read(victims), fc.array(fc.tuple(fc.oneof(fc.constantFrom(...PARAMETERS), encoded), encoded), { maxLength: 3 })) // prettier-ignore
      .map(([path, query]) => ({ method: 'GET', path: `${path}?${query.map((pair) => pair.join('=')).join('&')}`, headers: {} })), // prettier-ignore
    // Methods that a path does not have.
    fc
      .tuple(fc.constantFrom('PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'GET'), action(victims))
      .map(([method, path]) => ({ method, path, headers: {} })),
    fc.tuple(read(victims), nonsense).map(([path, body]) => post(path, body)),
    // Runs and routes that there are not.
    fc.tuple(noRun, fc.constantFrom(...VERBS)).map(([id, verb]) => post(`runs/${id}/${verb}`, valid)),
    fc.tuple(noRun, fc.constantFrom('', '/events')).map(([id, of]) => ({ method: 'GET', path: `runs/${id}${of}`, headers: {} })), // prettier-ignore
    fc.tuple(action(victims), encoded).map(([path, more]) => post(`${path}/${more || 'x'}`, valid)),
    // Bodies.
    fc.tuple(action(victims), nonsense).map(([path, body]) => post(path, body)),
    fc
      .tuple(action(victims), fc.oneof(fc.constantFrom(...NAMES), nasty), fc.oneof(wrongValue, nasty))
      .filter(([, name]) => !FIELDS.includes(name))
      .map(([path, name, value]) => post(path, `{${JSON.stringify(name)}:${JSON.stringify(value)}}`)),
    // Anything in the fields that there are, on a run that is elsewhere: what passes the checks gets as far as the database.
    fc
      .tuple(
        action(victims),
        fc.dictionary(fc.constantFrom(...FIELDS), fc.oneof(wrongValue, nasty), { maxKeys: 5, noNullPrototype: true }),
      ) // prettier-ignore
      .map(([path, fields]) => post(path, JSON.stringify({ ...fields, expected_status: 'cancelled' }))),
    fc
      .tuple(nasty, nasty, nasty)
      .map(([name, reason, key]) => post(`runs/${victims.finished}/signal`, JSON.stringify({ name, reason, idempotency_key: key, payload: { [name]: reason } }))), // prettier-ignore
    fc
      .tuple(fc.constantFrom('resume', 'cancel'), nasty, nasty, nasty)
      .map(([verb, name, step, error]) => post(`attention/${verb}`, JSON.stringify({ class: name, step, stuck_reason: 'paused_error', error_class: error }))), // prettier-ignore
    // Fine but for where they come from, or what they say they are.
    fc
      .tuple(
        action(victims),
        fc.constantFrom(
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
          'application/xml',
          'application/jsonp',
          'application/json5',
          'image/png',
        ),
      ) // prettier-ignore
      .map(([path, type]) => post(path, valid, { 'content-type': type })),
    fc
      .tuple(action(victims), fc.constantFrom('https://evil.example', 'null', 'http://', 'file://'))
      .map(([path, origin]) => post(path, valid, { ...JSON_TYPE, origin })),
    action(victims).map((path) => post(path, valid, { ...JSON_TYPE, 'sec-fetch-site': 'cross-site' })),
  );
}
