import {
  CancelIf,
  PayloadValidationError,
  Step,
  UnserializableValueError,
  Workflow,
  WorkflowModule,
  WorkflowOf,
  step,
} from 'nestjs-pg-workflows';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { refusedBoot } from './support/refused-boot';
import { workflowSuite } from './support/suite';

@Entity('things')
class Thing {
  @PrimaryColumn()
  id!: number;
}

@Entity('others')
class Other {
  @PrimaryColumn()
  id!: number;

  @Column({ nullable: true })
  name?: string;
}

@Workflow({ subject: Thing, steps: [step('only', async () => {})] })
class AboutThings extends WorkflowOf<Thing> {}

@Workflow({ steps: [step('only', async () => {})] })
class Plain extends WorkflowOf {}

const ran: string[] = [];

@Workflow({ name: 'a', steps: [step('b#c', async () => void ran.push('plain'))] })
class A extends WorkflowOf {}

@Workflow({ name: 'a#b' })
class AB extends WorkflowOf {
  @CancelIf()
  always() {
    return true;
  }

  @Step()
  async c() {
    ran.push('guarded');
  }
}

describe('options of a call', () => {
  const suite = workflowSuite();

  test.each([
    ['start', 'idempotencykey', { idempotencykey: 'k' }],
    ['start', 'arg', { arg: {} }],
  ])('STA-19 %s refuses a misspelt option (%s) instead of dropping it', async (_call, key, options) => {
    const { workflows } = await suite.boot([Plain], { worker: false });
    const start = workflows.start(Plain, options as never);
    await expect(start).rejects.toThrow(PayloadValidationError);
    await expect(start).rejects.toThrow(`has no option "${key}"`);
    expect(await suite.sql(`select from workflows where workflow_class = 'Plain'`)).toEqual([]);
  });

  test('OPS-16 verbs and reads refuse what is no object of options, and keys that they do not know', async () => {
    const { workflows } = await suite.boot([Plain], { worker: false });
    const run = await workflows.start(Plain);
    for (const wrong of ['alice', 5, null, ['alice'], { actr: 'alice' }]) {
      for (const call of ['pause', 'cancel', 'runNow', 'reload', 'steps', 'events'] as const) {
        await expect((run[call] as (options: unknown) => Promise<unknown>).call(run, wrong)).rejects.toThrow(
          PayloadValidationError,
        );
      }
    }
    await expect(workflows.startMany(Plain, [], null as never)).rejects.toThrow(PayloadValidationError);
    await expect(workflows.find(run.id, 7 as never)).rejects.toThrow(PayloadValidationError);
    expect(await suite.trail(run)).toEqual(['started', 'step_scheduled']);
  });

  test('STA-25 findOngoing without a subject says that one is needed', async () => {
    const { workflows } = await suite.boot([AboutThings], { worker: false, entities: [Thing] });
    for (const subject of [null, undefined]) {
      await expect(workflows.findOngoing(AboutThings, subject as never)).rejects.toThrow(/a subject is needed/);
    }
  });

  test('STA-27 a subject of another class than the declared one is refused', async () => {
    const { workflows } = await suite.boot([AboutThings], { worker: false, entities: [Thing, Other] });
    const start = workflows.start(AboutThings, { subject: Object.assign(new Other(), { id: 2 }) });
    await expect(start).rejects.toThrow(UnserializableValueError);
    await expect(start).rejects.toThrow('AboutThings is about a Thing: its subject cannot be a Other.');
  });

  test('FLOW-02 a guarded step is guarded though another class and step spell the same text', async () => {
    const { workflows } = await suite.boot([A, AB]);
    const guarded = await workflows.start(AB);
    const plain = await workflows.start(A);
    expect(await suite.until(guarded, 'finished', 'cancelled')).toBe('cancelled');
    await suite.until(plain, 'finished');
    expect(ran).toEqual(['plain']);
  });

  test('DEF-26 WorkflowModule without forRoot() refuses to boot and says what to call', async () => {
    await expect(
      refusedBoot({ url: suite.database.url, options: null, imports: [WorkflowModule] }),
    ).resolves.toMatchObject({
      message: expect.stringContaining('import WorkflowModule.forRoot()') as unknown,
    });
  });
});
