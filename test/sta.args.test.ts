import { Type } from 'class-transformer';
import { IsInt, IsString, Min, ValidateNested } from 'class-validator';
import {
  PayloadTooLargeError,
  PayloadValidationError,
  Step,
  UnserializableValueError,
  Workflow,
  WorkflowConfigurationError,
  WorkflowError,
  WorkflowOf,
  type Ctx,
  type WorkflowService,
} from 'nestjs-pg-workflows';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { gate, workflowSuite, type TestApp } from './support/suite';

@Entity({ name: 'coupons', synchronize: false })
class Coupon {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'text' })
  code!: string;
}

class AddressDto {
  @IsString()
  city!: string;
}

class OrderDto {
  @IsString()
  plan!: string;

  @IsInt()
  @Min(1)
  seats!: number;

  @ValidateNested()
  @Type(() => AddressDto)
  address?: AddressDto;
}

class OtherDto {
  plan = 'pro';
  seats = 1;
}

const seen: unknown[] = [];
let hold = gate();

@Workflow()
class Takes extends WorkflowOf<null, Record<string, unknown>> {
  @Step()
  async one(ctx: Ctx<this>) {
    seen.push(ctx.args);
    await hold.opened;
  }

  @Step()
  async two(ctx: Ctx<this>) {
    seen.push(ctx.args);
  }
}

@Workflow({ args: OrderDto })
class TakesOrder extends WorkflowOf<null, OrderDto> {
  @Step()
  async one(ctx: Ctx<this>) {
    seen.push(ctx.args);
  }
}

@Workflow()
class Writes extends WorkflowOf<null, { list: { name: string }[]; when: Date }> {
  @Step()
  async one(ctx: Ctx<this>) {
    const args = ctx.args as { list: { name: string }[] };
    for (const write of [
      () => (args.list = []),
      () => args.list.push({ name: 'b' }),
      () => (args.list[0].name = 'c'),
    ]) {
      try {
        write();
      } catch (error) {
        seen.push((error as Error).name);
      }
    }
    seen.push(args.list);
  }
}

describe('the arguments of a run', () => {
  // Registered first: a body that still waits would keep the application from closing.
  afterEach(() => hold.open());

  const suite = workflowSuite();
  const boot = (options: { worker?: false; maxPayloadSize?: number } = {}) =>
    suite.boot([Takes, TakesOrder, Writes], { entities: [Coupon], ...options });
  const countRuns = async () => (await suite.sql('select count(*)::int as runs from workflows'))[0].runs as number;
  const refusal = async (starting: Promise<unknown>): Promise<WorkflowError> => {
    const error: unknown = await starting.then(
      () => 'it was started',
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(WorkflowError);
    return error as WorkflowError;
  };

  beforeAll(() =>
    suite.sql('create table coupons (id int generated always as identity primary key, code text not null)'),
  );
  beforeEach(async () => {
    seen.length = 0;
    hold = gate();
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('STA-06 ctx.args equals what start got, in every step, whatever JSON alone cannot say', async () => {
    const { workflows } = await boot();
    hold.open();
    const args = {
      text: 'a\0b \ud800 \u{1f600} "\\',
      nested: { list: [1, null, -0, NaN, Infinity, { deep: true }], nothing: undefined },
      when: new Date('2024-02-29T12:00:00.123Z'),
      big: 12345678901234567890n,
      map: new Map<unknown, unknown>([['a', new Set([1, 2])]]),
      url: new URL('https://example.com/?q=1'),
      pattern: /a+/gi,
      bytes: new Uint8Array([0, 255]),
    };
    const run = await workflows.start(Takes, { args });
    await suite.until(run, 'finished');
    expect(seen).toHaveLength(2);
    for (const one of seen) {
      expect(one).toEqual(args);
      expect(one).not.toBe(args);
    }
    expect(Object.is((seen[0] as typeof args).nested.list[2], -0)).toBe(true);
  });

  test('STA-06 plain JSON is stored as it stands, with keys like __proto__ and constructor, and pollutes nothing', async () => {
    const { workflows } = await boot();
    hold.open();
    const args = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"z":1,"a":"\\u0000\\ud83d"}') as Record<string, unknown>; // prettier-ignore
    const run = await workflows.start(Takes, { args });
    await suite.until(run, 'finished');
    const [row] = await suite.sql('select arguments::text as stored from workflows where id = $1', [run.id]);
    expect(row.stored).toBe(JSON.stringify(args));
    expect(JSON.stringify(seen[0])).toBe(JSON.stringify(args));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('STA-06 no arguments are an empty object', async () => {
    const { workflows } = await boot();
    hold.open();
    for (const options of [undefined, {}, { args: undefined }]) {
      await suite.until(await workflows.start(Takes, options), 'finished');
    }
    expect(seen).toEqual(Array.from({ length: 6 }, () => ({})));
  });

  test('STA-06 an entity inside is stored as type and id and loaded on read; one that is gone reads as null (AMB-06)', async () => {
    const { workflows, dataSource } = await boot();
    const coupons = dataSource.getRepository(Coupon);
    const [kept, lost] = await coupons.save(coupons.create([{ code: 'KEPT' }, { code: 'LOST' }]));
    const run = await workflows.start(Takes, { args: { coupons: [kept, lost, kept], note: 'x' } });
    await suite.eventually(() => seen.length === 1, 'the first step has read its arguments');
    const [row] = await suite.sql('select arguments::text as stored from workflows where id = $1', [run.id]);
    expect(row.stored).not.toMatch(/KEPT|LOST/);
    expect(JSON.parse(row.stored as string)).toMatchObject({
      entities: [
        { type: 'Coupon', id: String(kept.id) },
        { type: 'Coupon', id: String(lost.id) },
      ],
    });
    await coupons.update(kept.id, { code: 'CHANGED' });
    await coupons.delete(lost.id);
    hold.open();
    await suite.until(run, 'finished');
    const was = { id: kept.id, code: 'KEPT' };
    const is = { id: kept.id, code: 'CHANGED' };
    expect(seen).toEqual([
      { coupons: [was, { id: expect.any(Number) as number, code: 'LOST' }, was], note: 'x' },
      { coupons: [is, null, is], note: 'x' },
    ]);
    expect((seen[0] as { coupons: unknown[] }).coupons[0]).toBeInstanceOf(Coupon);
  });

  test('STA-06 args is frozen, all the way down', async () => {
    const { workflows, reported } = await boot();
    const args = { list: [{ name: 'a' }], when: new Date(0) };
    const run = await workflows.start(Writes, { args });
    await suite.until(run, 'finished', 'paused');
    expect(reported).toEqual([]);
    expect(seen).toEqual(['TypeError', 'TypeError', 'TypeError', [{ name: 'a' }]]);
    // The caller's own are left as they are.
    expect(Object.isFrozen(args)).toBe(false);
  });

  test('STA-07 arguments of exactly maxPayloadSize bytes are taken, one byte more is refused: bytes of UTF-8, not characters', async () => {
    const { workflows } = await boot({ worker: false, maxPayloadSize: 100 });
    const overhead = Buffer.byteLength(JSON.stringify({ text: '' }));
    for (const text of ['x'.repeat(100 - overhead), 'é'.repeat(44) + 'x'.repeat(100 - overhead - 88)]) {
      const run = await workflows.start(Takes, { args: { text } });
      const [row] = await suite.sql('select octet_length(arguments::text)::int as bytes from workflows where id = $1', [
        run.id,
      ]);
      expect(row).toEqual({ bytes: 100 });
      const error = await refusal(workflows.start(Takes, { args: { text: `${text}x` } }));
      expect(error).toBeInstanceOf(PayloadTooLargeError);
      expect(error.message).toMatch(/arguments of Takes.*101 bytes.*maxPayloadSize allows 100/);
    }
    expect(await countRuns()).toBe(2);
  });

  test('STA-08 a value that cannot be stored is refused with the path to it, and nothing is stored', async () => {
    const { workflows } = await boot({ worker: false });
    const cyclic: Record<string, unknown> = { list: [] };
    (cyclic.list as unknown[]).push(cyclic);
    class Money {
      amount = 1;
    }
    const deep: Record<string, unknown> = {};
    for (let at = deep, level = 0; level < 100_000; level += 1) at = at.next = {};
    const cases: [args: unknown, message: RegExp][] = [
      [{ a: { run: () => 'executed' } }, /arguments\.a\.run is a function/],
      [{ a: [Symbol('s')] }, /arguments\.a\[0\] is a symbol/],
      [{ [Symbol('key')]: 1 }, /symbol/],
      [cyclic, /arguments\.list\[0\] refers back/],
      [{ price: new Money() }, /arguments\.price is an instance of Money/],
      [{ error: new Error('e') }, /arguments\.error is an instance of Error/],
      [{ b: Buffer.from('x') }, /arguments\.b is an instance of Buffer/],
      [{ later: Promise.resolve() }, /arguments\.later is an instance of Promise/],
      [{ at: new Date(NaN) }, /arguments\.at is an invalid Date/],
      [{ toJSON: () => 'other' }, /toJSON/],
      [{ coupon: Object.assign(new Coupon(), { code: 'unsaved' }) }, /arguments\.coupon is an unsaved Coupon/],
      [deep, /nested more than/],
      [{ get bad() { throw new Error('getter'); } }, /arguments.*could not be read/], // prettier-ignore
      [new Proxy({}, { ownKeys() { throw new Error('trap'); } }), /could not be read/], // prettier-ignore
      [
        JSON.parse('{"__proto__":{},"when":0}', (key, value) => (key === 'when' ? new Date(0) : (value as unknown))),
        /__proto__/,
      ],
      [new Money(), /is an instance of Money/],
      [new Map(), /is an instance of Map/],
      [() => 'executed', /is a function/],
    ];
    for (const [args, message] of cases) {
      const error = await refusal(workflows.start(Takes, { args: args as Record<string, unknown> }));
      expect(error).toBeInstanceOf(UnserializableValueError);
      expect(error.message).toMatch(message);
    }
    expect(await countRuns()).toBe(0);
  });

  test('STA-08 arguments that are no object are refused', async () => {
    const { workflows } = await boot({ worker: false });
    for (const args of [[], [1], 'text', 7, true, 7n, [undefined]]) {
      expect(await refusal(workflows.start(Takes, { args: args as never }))).toBeInstanceOf(PayloadValidationError);
    }
    expect(await refusal(workflows.start(Takes, { args: Symbol('s') as never }))).toBeInstanceOf(
      PayloadValidationError,
    );
    expect(await countRuns()).toBe(0);
  });

  test('STA-09 arguments that fail the DTO are refused, naming the property and never its value', async () => {
    const { workflows } = await boot({ worker: false });
    const cases: [args: unknown, message: RegExp][] = [
      [{ plan: 'pro', seats: 0 }, /OrderDto: seats/],
      [{ plan: 'pro', seats: 'secret' }, /OrderDto: seats/],
      [{}, /OrderDto: plan.*; seats/],
      [undefined, /OrderDto/],
      [{ plan: 'pro', seats: 1, address: { city: 7 } }, /address\.city/],
      [Object.assign(new OrderDto(), { plan: 'pro', seats: 0 }), /OrderDto: seats/],
    ];
    for (const [args, message] of cases) {
      const error = await refusal(workflows.start(TakesOrder, { args: args as OrderDto }));
      expect(error).toBeInstanceOf(PayloadValidationError);
      expect(error.message).toMatch(message);
      expect(error.message).not.toContain('secret');
    }
    const cyclic: Record<string, unknown> = { plan: 'pro', seats: 1 };
    cyclic.self = cyclic;
    expect(await refusal(workflows.start(TakesOrder, { args: cyclic as never }))).toBeInstanceOf(
      UnserializableValueError,
    );
    expect(await refusal(workflows.start(TakesOrder, { args: new OtherDto() }))).toBeInstanceOf(
      UnserializableValueError,
    );
    expect(await refusal(workflows.start(TakesOrder, { args: null as never }))).toBeInstanceOf(PayloadValidationError);
    expect(await countRuns()).toBe(0);
  });

  test('STA-09 arguments that fit are stored as given, as an object literal or as an instance of the DTO', async () => {
    const { workflows } = await boot();
    const literal = await workflows.start(TakesOrder, { args: { plan: 'pro', seats: 2, address: { city: 'Rome' } } });
    await suite.until(literal, 'finished');
    const instance = await workflows.start(TakesOrder, {
      args: Object.assign(new OrderDto(), { plan: 'free', seats: 1 }),
    });
    await suite.until(instance, 'finished');
    expect(seen).toEqual([
      { plan: 'pro', seats: 2, address: { city: 'Rome' } },
      { plan: 'free', seats: 1 },
    ]);
  });

  describe('names and keys that cannot be', () => {
    const long = 'x'.repeat(256);
    const start = (workflows: WorkflowService, options: object) => workflows.start(Takes, options);

    test('STA-26 a key or an actor that is too long, has a NUL or half a surrogate pair is refused before any SQL', async () => {
      const { workflows, dataSource }: TestApp = await boot({ worker: false });
      await dataSource.transaction(async (manager) => {
        for (const text of [long, 'a\0b', 'a\ud800']) {
          for (const [option, name] of [
            ['actor', 'actor'],
            ['idempotencyKey', 'idempotency key'],
          ] as const) {
            // prettier-ignore
            const error = await refusal(start(workflows, { [option]: text, manager }));
            expect(error).toBeInstanceOf(PayloadValidationError);
            expect(error.message).toContain(name);
          }
        }
        const fits = '\u{1f600}'.repeat(255);
        const run = await start(workflows, { actor: fits, idempotencyKey: fits, reason: `why\0not ${long}`, manager });
        expect((await run.events())[0]).toMatchObject({ actor: fits, reason: `why\ufffdnot ${long}` });
      });
      expect(await countRuns()).toBe(1);
    });

    test('STA-26 actor, reason and key of another type get a typed error', async () => {
      const { workflows } = await boot({ worker: false });
      for (const value of [7, true, {}, [], () => 'x', Symbol('s'), 7n, new Date(0)]) {
        for (const [option, name] of [
          ['actor', 'actor'],
          ['reason', 'reason'],
          ['idempotencyKey', 'idempotency key'],
        ] as const) {
          // prettier-ignore
          const error = await refusal(start(workflows, { [option]: value }));
          expect(error).toBeInstanceOf(PayloadValidationError);
          expect(error.message).toMatch(new RegExp(`${name} must be a string, not ${typeof value}`));
        }
      }
      expect(await countRuns()).toBe(0);
      // null is as good as nothing.
      await start(workflows, { actor: null, reason: null, idempotencyKey: null, subject: null, manager: null });
      expect(await suite.sql('select distinct actor, reason from workflow_events')).toEqual([
        { actor: 'app', reason: null },
      ]);
    });

    test('STA-26 options or a list of starts that are none, and a manager that is none, get a typed error', async () => {
      const { workflows, dataSource } = await boot({ worker: false });
      for (const options of ['text', 7, [], () => 1]) {
        expect(await refusal(workflows.start(Takes, options as never))).toBeInstanceOf(PayloadValidationError);
        expect(await refusal(workflows.startMany(Takes, [{}, options] as never))).toBeInstanceOf(
          PayloadValidationError,
        );
      }
      for (const inputs of [undefined, null, {}, 'text', 7]) {
        expect(await refusal(workflows.startMany(Takes, inputs as never))).toBeInstanceOf(PayloadValidationError);
      }
      const queryRunner = dataSource.createQueryRunner();
      for (const manager of [{}, 7, 'manager', dataSource, dataSource.getRepository(Coupon), queryRunner]) {
        expect(await refusal(start(workflows, { manager }))).toBeInstanceOf(WorkflowConfigurationError);
        expect(await refusal(workflows.find('abc', { manager } as never))).toBeInstanceOf(WorkflowConfigurationError);
      }
      await queryRunner.release();
      expect(await countRuns()).toBe(0);
    });
  });
});
