import { createContext, runInContext } from 'node:vm';
import { cleanBacktrace } from './backtrace.js';
import { captureError, type ErrorRecord } from './error-record.js';

function capture(thrown: unknown, backtraceLines = 20): ErrorRecord {
  return captureError(thrown, { backtraceLines });
}

class GatewayError extends Error {}

function doNotLook(): never {
  throw new Error('do not look');
}

/** An error thrown in the engine's code, called by this spec. */
function engineError(): Error {
  try {
    cleanBacktrace('', '', 1, null as unknown as string[]);
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not throw');
}

describe('what was thrown', () => {
  test('EXC-02 records class and message of an error', () => {
    expect(capture(new GatewayError('no route'))).toMatchObject({
      class: 'GatewayError',
      message: 'no route',
      causes: [],
    });
  });

  test('EXC-02 takes the name of an error whose class says nothing', () => {
    expect(capture(Object.assign(new Error('x'), { name: 'AbortError' })).class).toBe('AbortError');
    expect(capture(Object.assign(new GatewayError('x'), { name: 'Other' })).class).toBe('GatewayError');
    expect(capture(new Error('x')).class).toBe('Error');
    // Nobody could ask for a group of such errors by its name.
    expect(capture(Object.assign(new Error('x'), { name: '  ' })).class).toBe('Error');
    expect(capture(new (class extends Error {})('x')).class).toBe('Error');
  });

  test('EXC-02 knows an error of another realm', () => {
    const foreign: unknown = runInContext('new RangeError("far")', createContext());
    expect(capture(foreign)).toMatchObject({ class: 'RangeError', message: 'far' });
  });

  const others: [unknown, string, string][] = [
    [undefined, 'undefined', 'undefined'],
    [null, 'null', 'null'],
    ['no stock', 'string', 'no stock'],
    ['', 'string', ''],
    [7, 'number', '7'],
    [7n, 'bigint', '7n'],
    [false, 'boolean', 'false'],
    [Symbol('x'), 'symbol', 'Symbol(x)'],
    [{ status: 404 }, 'Object', '{ status: 404 }'],
    [[1, 'a'], 'Array', "[ 1, 'a' ]"],
    [{ message: 'like an error', code: 1 }, 'Object', 'like an error'],
    [Object.create(null), 'Object', '[Object: null prototype] {}'],
  ];

  test.each(others)('EXC-02 records %p, which is no Error', (thrown, className, message) => {
    expect(capture(thrown)).toStrictEqual({ class: className, message, backtrace: null, causes: [] });
  });

  test('EXC-02 records a message that is no string as text', () => {
    expect(capture(Object.assign(new Error(), { message: { code: 7 } })).message).toBe('{ code: 7 }');
    expect(capture(Object.assign(new Error(), { message: undefined })).message).toBe('');
    expect(capture(Object.assign(new Error(), { message: Symbol('m') })).message).toBe('Symbol(m)');
  });

  test('EXC-02 never throws itself, whatever was thrown', () => {
    const keys = ['constructor', 'name', 'message', 'stack', 'cause', 'errors'];
    const getters: unknown = Object.create(
      Error.prototype,
      Object.fromEntries(keys.map((key) => [key, { get: doNotLook }])),
    );
    const traps = new Proxy(
      {},
      {
        get: doNotLook,
        getPrototypeOf: doNotLook,
        has: doNotLook,
        ownKeys: doNotLook,
        getOwnPropertyDescriptor: doNotLook,
      },
    );
    const revoked = Proxy.revocable(() => 1, {});
    revoked.revoke();
    for (const thrown of [getters, traps, revoked.proxy, { message: traps }, { cause: traps }]) {
      expect(capture(thrown)).toStrictEqual({
        class: expect.any(String),
        message: expect.any(String),
        backtrace: null,
        causes: expect.any(Array),
      });
    }
  });

  test('EXC-02 records nothing that PostgreSQL refuses: no NUL, no text of megabytes', () => {
    const record = capture(new Error('a\0b', { cause: new Error(`c\0${'x'.repeat(1_000_000)}`) }));
    expect(record.message).toBe('a\uFFFDb');
    expect(record.causes[0]?.message).toHaveLength(10_000);
    expect(record.causes[0]?.message).toMatch(/^c\uFFFDx+… \(cut\)$/);
    expect(JSON.stringify(record)).not.toContain('\\u0000');
  });
});

describe('the chain of causes', () => {
  test('EXC-02 records class and message of each cause', () => {
    const thrown = new Error('a', { cause: new GatewayError('b', { cause: new TypeError('c', { cause: 'd' }) }) });
    expect(capture(thrown).causes).toStrictEqual([
      { class: 'GatewayError', message: 'b' },
      { class: 'TypeError', message: 'c' },
      { class: 'string', message: 'd' },
    ]);
  });

  test('EXC-02 ends the chain at a cycle', () => {
    const first = new Error('first');
    const second = new Error('second', { cause: first });
    first.cause = second;
    expect(capture(first).causes).toStrictEqual([{ class: 'Error', message: 'second' }]);
  });

  test('EXC-02 keeps at most 20 causes', () => {
    let error = new Error('0');
    for (let depth = 1; depth <= 100; depth++) error = new Error(String(depth), { cause: error });
    const { causes } = capture(error);
    expect(causes).toHaveLength(20);
    expect(causes[0]?.message).toBe('99');
  });

  test('EXC-02 records the errors of an AggregateError as causes', () => {
    const thrown = new AggregateError([new Error('::1 refused', { cause: 'x' }), new Error('127.0.0.1 refused')], '');
    expect(capture(thrown).causes.map(({ message }) => message)).toStrictEqual([
      '::1 refused',
      'x',
      '127.0.0.1 refused',
    ]);
  });
});

describe('the backtrace', () => {
  const stack = [
    'Error: broken',
    '    at quoted (/app/src/in-the-message.ts:1:1)',
    '    at OrderWorkflow.charge (/app/src/order.workflow.ts:10:5)',
    '    at async file:///app/src/with%20space/gateway.mjs:3:4',
    '    at query (/app/node_modules/pg/lib/client.js:1:1)',
    '    at query (C:\\app\\node_modules\\pg\\lib\\client.js:1:1)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    '    at node:events:518:28',
    '    at Attempt.run (/app/libs/engine/src/engine/attempt.ts:1:1)',
    '    at run (file:///app/libs/engine/src/engine/attempt.js:1:1)',
    '    at Object.<anonymous> (/app/libs/engine/src/engine/attempt.spec.ts:1:1)',
    '    at Promise.all (index 0)',
  ].join('\n');
  const message = 'broken\n    at quoted (/app/src/in-the-message.ts:1:1)';
  const roots = ['/app/libs/engine/src'];

  test("EXC-02 keeps the application's frames only: none of the message, packages, Node or the engine", () => {
    expect(cleanBacktrace(stack, message, 20, roots)).toBe(
      [
        'at OrderWorkflow.charge (/app/src/order.workflow.ts:10:5)',
        'at async file:///app/src/with%20space/gateway.mjs:3:4',
        'at Object.<anonymous> (/app/libs/engine/src/engine/attempt.spec.ts:1:1)',
        'at Promise.all (index 0)',
      ].join('\n'),
    );
  });

  test('EXC-02 knows engine files in folders with spaces, and on Windows', () => {
    const ours = '    at a (file:///my%20app/engine/a.js:1:1)\n    at b (C:\\my app\\engine\\b.js:1:1)';
    expect(cleanBacktrace(ours, '', 20, ['/my app/engine', 'C:\\my app\\engine'])).toBeNull();
    expect(cleanBacktrace(ours, '', 20, ['/engine'])).not.toBeNull();
  });

  test('EXC-02 keeps at most as many lines as asked', () => {
    expect(cleanBacktrace(stack, message, 1, roots)).toBe('at OrderWorkflow.charge (/app/src/order.workflow.ts:10:5)');
    expect(cleanBacktrace(stack, message, 0, roots)).toBeNull();
  });

  test('EXC-02 shows where this spec threw, and no frame of the engine', () => {
    expect(engineError().stack).toContain('backtrace.ts');
    const { backtrace } = capture(engineError());
    expect(backtrace).toContain('error-record.spec.ts');
    expect(backtrace).not.toMatch(/backtrace\.ts|node_modules|node:/);
  });

  test('EXC-02 reads stacks of any length and kind', () => {
    expect(capture(Object.assign(new Error('x'), { stack: 7 })).backtrace).toBeNull();
    const long = `Error: x\n${'    at f (/app/a.ts:1:1)\n'.repeat(100_000)}`;
    expect(capture(Object.assign(new Error('x'), { stack: long })).backtrace!.split('\n')).toHaveLength(20);
  });
});
