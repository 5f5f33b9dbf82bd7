import { createContext, runInContext } from 'node:vm';
import webhooks from '@octokit/webhooks-examples';
import { PayloadTooLargeError, PayloadValidationError, UnserializableValueError } from '../errors.js';
import {
  assertPlainObject,
  deepFreeze,
  deserialize,
  deserializeNow,
  needsLoading,
  serialize,
  type EntityReference,
  type EntityReferences,
} from './payload.js';

class Order {
  constructor(readonly id: string | null) {}
}

class Money {
  constructor(readonly cents: number) {}
}

/** Orders of all ids but `gone` exist; each is loaded as an object of its own. */
function orders(): EntityReferences & { loaded: EntityReference[] } {
  const loaded: EntityReference[] = [];
  return {
    loaded,
    referenceOf: (value) => {
      if (!(value instanceof Order)) return null;
      return value.id === null ? 'unsaved' : { type: 'Order', id: value.id };
    },
    load: async (reference) => {
      loaded.push(reference);
      return reference.id === 'gone' ? null : new Order(reference.id);
    },
  };
}

function store(value: unknown, { what = 'arguments', maxBytes = 131_072, entities = orders() } = {}): string {
  return serialize(value, { what, maxBytes, entities });
}

function roundTrip(value: unknown): unknown {
  return deserializeNow(JSON.parse(store(value)));
}

/** The message with which a value is refused. */
function refusalOf(value: unknown, what?: string): string {
  try {
    return `it was stored: ${store(value, { what })}`;
  } catch (error) {
    if (error instanceof UnserializableValueError) return error.message;
    throw error;
  }
}

function nested(levels: number, innermost: unknown = null): unknown {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = { in: value };
  return value;
}

describe('plain JSON', () => {
  test('STA-06 stores and reads back every recorded webhook payload unchanged', () => {
    const payloads = webhooks.flatMap(({ examples }: { examples: object[] }) => examples);
    expect(payloads.length).toBeGreaterThanOrEqual(329);
    for (const payload of payloads) {
      const text = store(payload);
      expect(text).toBe(JSON.stringify(payload));
      expect(deserializeNow(JSON.parse(text))).toStrictEqual(payload);
    }
  });

  test('STA-06 reads back every recorded webhook payload unchanged beside a date', () => {
    for (const { examples } of webhooks as { examples: object[] }[]) {
      for (const payload of examples) {
        const value = { at: new Date(0), payload };
        expect(roundTrip(value)).toStrictEqual(value);
      }
    }
  });

  test('STA-06 stores plain JSON as it stands, readable in SQL', () => {
    expect(store({ plan: 'pro', seats: [1, 2.5], trial: false, coupon: null })).toBe(
      '{"plan":"pro","seats":[1,2.5],"trial":false,"coupon":null}',
    );
  });

  test('STA-06 keeps the keys constructor, prototype and __proto__ of plain JSON, and pollutes no prototype', () => {
    const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"prototype":1}';
    const back = deserializeNow(JSON.parse(store(JSON.parse(text)))) as object;
    expect(JSON.stringify(back)).toBe(text);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('STA-06 keeps NUL characters, lone surrogates and emoji, in keys and in strings', () => {
    const value = { 'a\0b': '\0', '\uD800': 'x\uDFFFy', '👍': '👍', '': '', 'a.b\\c': 'x' };
    expect(roundTrip(value)).toStrictEqual(value);
    expect(roundTrip({ ...value, at: new Date(0) })).toStrictEqual({ ...value, at: new Date(0) });
  });

  test('STA-06 takes an object without a prototype, and one of another realm, as plain', () => {
    expect(store(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
    const foreign: unknown = runInContext('({ a: [1, { constructor: 2 }] })', createContext());
    expect(store(foreign)).toBe('{"a":[1,{"constructor":2}]}');
  });

  test('STA-06 reads back a payload that itself has the key of the envelope', () => {
    const value = { $superjson: { values: { json: ['Date'] } }, json: 'x', entities: [{ type: 'Order', id: '1' }] };
    expect(roundTrip(value)).toStrictEqual(value);
    expect(roundTrip({ ...value, at: new Date(0) })).toStrictEqual({ ...value, at: new Date(0) });
    expect(needsLoading(JSON.parse(store(value)))).toBe(false);
  });

  test('STA-06 reads an accessor of an object literal as its value', () => {
    const cart = {
      items: [1, 2],
      get size() {
        return this.items.length;
      },
    };
    expect(store(cart)).toBe('{"items":[1,2],"size":2}');
  });
});

describe('what JSON cannot say', () => {
  const rich: [string, unknown][] = [
    ['a Date', new Date('2026-11-29T12:34:56.789Z')],
    ['a Date before and after four-digit years', [new Date(-1e14), new Date(8.64e15)]],
    ['bigints, one of them twice', [1n, 1n, -(2n ** 80n)]],
    ['numbers that JSON lacks', [NaN, NaN, Infinity, -Infinity, -0]],
    ['undefined', { a: undefined, b: [undefined, 1] }],
    ['a RegExp', /a\/b\n"/giu],
    ['a URL', new URL('https://example.com/a?b=c#d')],
    ['typed arrays', [new Uint8Array([1, 255]), new Float64Array([NaN, -0, 1.5]), new BigInt64Array([-1n])]],
    ['empty collections', [new Map(), new Set(), new Uint8Array()]],
    ['a Map whose keys look alike as JSON', new Map<unknown, unknown>([[1n, 'bigint'], ['1', 'text'], [1, 'number']])], // prettier-ignore
    ['a Set whose items look alike as JSON', new Set([null, undefined, NaN, 'NaN', new Date(0), new Date(0)])],
    ['collections in collections', new Map([[new Set([1n]), new Map([[{ at: new Date(1) }, [new Set(['x'])]]])]])],
    ['keys with dots, backslashes and digits', { 'a.b': { '\\': new Date(0), '0': 1n, '': undefined, '1.': NaN } }],
  ];

  test.each(rich)('STA-06 reads back %s as it was', (_, value) => {
    expect(roundTrip(value)).toStrictEqual(value);
    expect(roundTrip({ deep: [{ value }] })).toStrictEqual({ deep: [{ value }] });
  });

  test('STA-06 keeps the rest readable in SQL beside a date', () => {
    const stored = JSON.parse(store({ plan: 'pro', at: new Date(0) })) as { json: unknown };
    expect(stored.json).toStrictEqual({ plan: 'pro', at: '1970-01-01T00:00:00.000Z' });
  });

  test('STA-06 gives an object that stands in two places back twice, plain or not', () => {
    const plain = { street: 'Main' };
    const dated = { at: new Date(0) };
    expect(roundTrip({ a: plain, b: plain })).toStrictEqual({ a: plain, b: plain });
    const back = roundTrip({ a: dated, set: new Set([dated]), map: new Map([[dated, dated]]) }) as { a: object };
    expect(back).toStrictEqual({ a: dated, set: new Set([dated]), map: new Map([[dated, dated]]) });
  });

  test('STA-06 leaves the given value alone', () => {
    const value = deepFreeze({ at: new Date(0), list: [{ n: 1n }], map: new Map([['x', new Set([1n])]]) });
    store(value);
    expect(value).toStrictEqual({ at: new Date(0), list: [{ n: 1n }], map: new Map([['x', new Set([1n])]]) });
  });

  test('STA-06 does not change the parsed column while reading it', () => {
    const stored = deepFreeze(JSON.parse(store({ at: new Date(0), in: [1n] })));
    expect(deserializeNow(stored)).toStrictEqual(deserializeNow(stored));
  });
});

describe('refusals', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = [cycle];
  const sparse = [1];
  sparse[2] = 3;
  const endless: unknown[] = [];
  endless.length = 1e9;
  class Sub extends Map {}
  const throwing = {
    get total(): number {
      throw new Error('no rate');
    },
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test('STA-08 refuses a function and names the path to it', () => {
    const message = refusalOf({ items: [1, 2, 3, { callback: () => 1 }] });
    expect(message).toBe(
      'Cannot store the arguments: arguments.items[3].callback is a function. ' +
        'Functions are never stored; pass the data it needs.',
    );
  });

  test('STA-08 begins the path with what is stored', () => {
    expect(refusalOf({ f() {} }, 'output of step "charge"')).toMatch(
      /^Cannot store the output of step "charge": output\.f is a function/,
    );
  });

  const refused: [string, unknown, RegExp][] = [
    ['a symbol', { a: Symbol('x') }, /arguments\.a is a symbol/],
    ['a symbol as a key', { [Symbol('tag')]: 1 }, /arguments\[Symbol\(tag\)\] has a symbol as its key/],
    ['a cycle', { a: cycle }, /arguments\.a\.self\[0\] refers back to an object that contains it/],
    [
      'an instance of an unknown class',
      { 'my price': new Money(1) },
      /arguments\["my price"\] is an instance of Money/,
    ],
    ['an Error', { e: new TypeError('x') }, /arguments\.e is an instance of TypeError/],
    ['a Buffer', { b: Buffer.from('x') }, /arguments\.b is an instance of Buffer\. .*Uint8Array/],
    ['a Promise', { p: Promise.resolve() }, /arguments\.p is an instance of Promise\. Await/],
    ['a WeakMap', { w: new WeakMap() }, /arguments\.w is an instance of WeakMap/],
    ['an ArrayBuffer', { w: new ArrayBuffer(1) }, /arguments\.w is an instance of ArrayBuffer/],
    ['a boxed string', { s: Object('x') }, /arguments\.s is an instance of String/],
    ['an instance of a subclass of Map', { m: new Sub() }, /arguments\.m is an instance of Sub/],
    ['a hole in an array', sparse, /arguments\[1\] is a hole/],
    ['a billion holes', endless, /arguments\[0\] is a hole/],
    ['a property of an array', { m: 'ab'.match(/b/) }, /arguments\.m\.index is a property of an array/],
    ['a property of a Map', { m: Object.assign(new Map(), { x: 1 }) }, /arguments\.m\.x is a property of a Map/],
    [
      'a property of a typed array',
      { u: Object.assign(new Uint8Array(2), { x: 1 }) },
      /u\.x is a property of a Uint8Array/,
    ],
    [
      'an object with toJSON',
      { d: Object.defineProperty({}, 'toJSON', { value: () => 1 }) },
      /arguments\.d has a toJSON/,
    ],
    ['an invalid Date', { d: new Date(NaN) }, /arguments\.d is an invalid Date/],
    ['a getter that throws', { cart: throwing }, /arguments\.cart could not be read \(Error: no rate\)/],
    ['a proxy that throws', { p: revoked.proxy }, /arguments\.p could not be read/],
    ['a function in a Map', { m: new Map([['x', () => 1]]) }, /arguments\.m\.get\("x"\) is a function/],
    ['a function as the key of a Map', { m: new Map([[() => 1, 1]]) }, /arguments\.m\.keys\(\)\[0\] is a function/],
    ['a function in a Set', { s: new Set([1, () => 1]) }, /arguments\.s\{1\} is a function/],
    [
      'the key __proto__ beside a date',
      { a: JSON.parse('{"__proto__":1}'), d: new Date() },
      /arguments\.a\.__proto__ /,
    ],
    ['the key constructor beside a date', { constructor: 1, d: new Date() }, /arguments\.constructor has a name/],
    ['a hundred thousand levels', nested(100_000), /in\.in.* … .*nested more than 500 levels/],
    ['a hundred thousand levels around a date', nested(100_000, new Date()), /nested more than 500 levels/],
  ];

  test.each(refused)('STA-08 refuses %s and names the path to it', (_, value, message) => {
    expect(refusalOf(value)).toMatch(message);
  });

  test('STA-08 takes five hundred levels, plain or not', () => {
    expect(JSON.stringify(roundTrip(nested(500)))).toBe(JSON.stringify(nested(500)));
    let maps: Map<number, unknown> = new Map([[0, 1n]]);
    for (let level = 1; level < 500; level++) maps = new Map([[level, maps]]);
    let back: unknown = roundTrip(maps);
    for (let level = 499; level >= 0; level--) back = (back as Map<number, unknown>).get(level);
    expect(back).toBe(1n);
  });

  test('STA-08 refuses with little of the stack left', () => {
    const dig = (): string => {
      try {
        return dig();
      } catch {
        return refusalOf(nested(450, () => 1));
      }
    };
    expect(dig()).toMatch(/Cannot store the arguments/);
  });
});

describe('entities', () => {
  test('STA-06 stores an entity as type and id, and loads it on read', async () => {
    const entities = orders();
    const text = store({ order: new Order('7'), note: 'x' });
    expect(JSON.parse(text)).toMatchObject({ json: { order: { type: 'Order', id: '7' }, note: 'x' } });
    const stored: unknown = JSON.parse(text);
    expect(needsLoading(stored)).toBe(true);
    expect(await deserialize(stored, entities)).toStrictEqual({ order: new Order('7'), note: 'x' });
  });

  test('STA-06 loads entities at any depth, each once', async () => {
    const entities = orders();
    const one = new Order('1');
    const value = { list: [one, [new Order('1')]], map: new Map([[one, new Set([new Order('2')])]]) };
    expect(await deserialize(JSON.parse(store(value)), entities)).toStrictEqual(value);
    expect(entities.loaded).toStrictEqual([
      { type: 'Order', id: '1' },
      { type: 'Order', id: '2' },
    ]);
  });

  test('STA-06 loads several entities at the same time', async () => {
    const waiting: (() => void)[] = [];
    const load = ({ id }: EntityReference) =>
      new Promise((resolve) => {
        waiting.push(() => resolve(new Order(id)));
        if (waiting.length === 2) waiting.forEach((go) => go());
      });
    const stored: unknown = JSON.parse(store([new Order('1'), new Order('2')]));
    expect(await deserialize(stored, { load })).toStrictEqual([new Order('1'), new Order('2')]);
  });

  test('AMB-06 reads an entity that is gone as null', async () => {
    const stored: unknown = JSON.parse(store({ order: new Order('gone'), other: new Order('1') }));
    expect(await deserialize(stored, orders())).toStrictEqual({ order: null, other: new Order('1') });
  });

  test('STA-27 refuses an unsaved entity and says to save it', () => {
    expect(refusalOf({ orders: [new Order(null)] })).toBe(
      'Cannot store the arguments: arguments.orders[0] is an unsaved Order. Save it first, so that it has an id.',
    );
  });

  test('AMB-06 reads payloads without entities with and without a promise, but not one with', async () => {
    expect(await deserialize({ a: 1 }, orders())).toStrictEqual({ a: 1 });
    expect(await deserialize(JSON.parse(store({ a: 1n })), orders())).toStrictEqual({ a: 1n });
    expect(() => deserializeNow(JSON.parse(store(new Order('7'))))).toThrow(/Order 7, which has to be loaded/);
  });
});

describe('size', () => {
  test('STA-07 accepts exactly the limit and refuses a byte more, counted in UTF-8', () => {
    const value = { text: 'ü€👍' };
    const bytes = Buffer.byteLength(JSON.stringify(value));
    expect(bytes).toBe(20);
    expect(store(value, { maxBytes: 20 })).toBe(JSON.stringify(value));
    expect(() => store(value, { maxBytes: 19 })).toThrow(PayloadTooLargeError);
    expect(() => store(value, { maxBytes: 19 })).toThrow(/arguments.* 20 bytes.* 19\./);
  });

  test('IDEM-04 counts the stored form of a rich value', () => {
    const value = { at: new Date(0) };
    const bytes = store(value).length;
    expect(store(value, { maxBytes: bytes })).toHaveLength(bytes);
    expect(() => store(value, { maxBytes: bytes - 1 })).toThrow(PayloadTooLargeError);
  });

  test.each([
    ['plain', 'x'],
    ['rich', 1n],
  ])('STA-07 refuses a billion paths to a few %s objects at once', (_, leaf) => {
    let value: unknown = [leaf];
    for (let level = 0; level < 60; level++) value = [value, value];
    expect(() => store(value)).toThrow(/takes more than \d+ bytes.* 131072/);
  });
});

describe('the top level', () => {
  test('STA-08 takes an object literal as arguments', () => {
    expect(() => assertPlainObject({ a: 1 }, 'arguments')).not.toThrow();
    expect(() => assertPlainObject(Object.create(null), 'arguments')).not.toThrow();
  });

  test.each([
    [null, /not null/],
    [[1], /not an array/],
    ['x', /not a string/],
    [undefined, /not undefined/],
  ])('SIG-17 refuses %p as a payload: it has another shape', (value, message) => {
    expect(() => assertPlainObject(value, 'payload of signal "paid"')).toThrow(PayloadValidationError);
    expect(() => assertPlainObject(value, 'payload of signal "paid"')).toThrow(message);
  });

  test.each([
    [new Money(1), /arguments is an instance of Money/],
    [new Map(), /arguments is an instance of Map/],
    [() => 1, /arguments is a function/],
  ])('STA-08 refuses %p as arguments: no JSON holds it', (value, message) => {
    expect(() => assertPlainObject(value, 'arguments')).toThrow(UnserializableValueError);
    expect(() => assertPlainObject(value, 'arguments')).toThrow(message);
  });

  test('STA-06 freezes objects and arrays all the way down, and leaves entities as they are', () => {
    const order = new Order('1');
    const args = deepFreeze({ list: [{ a: 1 }], order, tags: new Set(['x']) });
    expect(Object.isFrozen(args) && Object.isFrozen(args.list) && Object.isFrozen(args.list[0])).toBe(true);
    expect(Object.isFrozen(order) || Object.isFrozen(args.tags)).toBe(false);
    expect(() => deepFreeze(nested(100_000))).not.toThrow();
  });
});
