import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { StepContext, WorkflowHandle, WorkflowService } from 'nestjs-pg-workflows';
import { createWorkflowTester, type WorkflowTester } from 'nestjs-pg-workflows/testing';
import { pageCode } from '../support/page-code';
import { workflowSuite, type TestApp } from '../support/suite';

const page = pageCode('docs/how-to/sagas.md', {
  'trip.entity.ts': `
    import { Column, Entity, PrimaryColumn } from 'typeorm';
    @Entity('trips')
    export class Trip {
      @PrimaryColumn('uuid') id!: string;
      @Column('text') state!: 'asked for' | 'booked' | 'unwanted';
      @Column('uuid', { name: 'booked_by', nullable: true }) bookedBy!: string | null;
    }`,
  'bookings.ts': `
    export class NotAvailable extends Error {}
    export class Unreachable extends Error {}
    export class Bookings {}`,
  'mailer.ts': `export class Mailer {}`,
});
const { NotAvailable, Unreachable, Bookings } = page('bookings.ts');
const { TripWorkflow } = page('trip.workflow.ts');
const { UndoTripWorkflow } = page('undo-trip.workflow.ts');
const { Trips } = page('trips.service.ts');

/** The companies: what is booked, by the reference it was booked under. They keep what they are asked twice once. */
class Companies {
  readonly booked = new Map<string, string>();
  /** What each was asked, in order. */
  readonly asked: string[] = [];

  bookFlight = (_: object, { idempotencyKey }: { idempotencyKey: string }) => this.book('flight', idempotencyKey);
  bookHotel = (_: object, { idempotencyKey }: { idempotencyKey: string }) => this.book('hotel', idempotencyKey);
  charge = (_: object, { idempotencyKey }: { idempotencyKey: string }) => this.book('money', idempotencyKey);
  cancelFlight = (reference: string) => this.undo('flight', reference);
  cancelHotel = (reference: string) => this.undo('hotel', reference);
  refund = (reference: string) => this.undo('money', reference);

  private async book(what: string, key: string) {
    this.asked.push(`book ${what}`);
    this.booked.set(key, what);
    return { id: what };
  }

  private async undo(what: string, key: string) {
    this.asked.push(`undo ${what}`);
    this.booked.delete(key);
  }
}

describe('the how-to page on sagas', () => {
  const suite = workflowSuite();
  let booted: TestApp;
  let workflows: WorkflowService;
  let flows: WorkflowTester;
  let companies: Companies;
  let mails: unknown[];

  beforeAll(() => suite.sql('create table trips (id uuid primary key, state text not null, booked_by uuid)'));

  beforeEach(async () => {
    companies = new Companies();
    mails = [];
    const providers = [
      TripWorkflow,
      UndoTripWorkflow,
      Trips,
      { provide: Bookings, useValue: companies },
      { provide: page('mailer.ts').Mailer, useValue: { send: async (...mail: unknown[]) => mails.push(mail[1]) } },
    ];
    const imports = [TypeOrmModule.forFeature([page('trip.entity.ts').Trip])];
    booted = await suite.boot(providers, { worker: false, imports });
    workflows = booted.workflows;
    flows = createWorkflowTester(booted.app);
  });
  afterEach(() => jest.restoreAllMocks());

  async function aTrip(): Promise<{ id: string; run: WorkflowHandle }> {
    const id = randomUUID();
    await suite.sql(`insert into trips values ($1, 'asked for')`, [id]);
    return { id, run: await workflows.start(TripWorkflow, { subject: { id } }) };
  }
  const stateOf = async (id: string) => (await suite.sql('select state from trips where id = $1', [id]))[0].state;
  const steps = async (run: WorkflowHandle) =>
    (await run.steps()).map(({ stepName, status, error }) => `${stepName} ${status}${error ? `: ${error.class}` : ''}`);
  const fails = (what: keyof Companies, ...errors: Error[]) => {
    const spy = jest.spyOn(companies, what as 'refund');
    for (const error of errors) spy.mockRejectedValueOnce(error);
  };
  const UNDOING = ['refund completed', 'cancelHotel completed', 'cancelFlight completed', 'giveUp cancelled'];

  test('FLOW-13 a trip that goes well is booked, and no compensation has a row', async () => {
    const { id, run } = await aTrip();
    await flows.speedrun(run);
    expect([run.status, await stateOf(id), [...companies.booked.values()]]).toEqual([
      'finished',
      'booked',
      ['flight', 'hotel', 'money'],
    ]);
    expect(await steps(run)).toEqual(
      ['bookFlight', 'bookHotel', 'charge', 'confirm'].map((step) => `${step} completed`),
    );
  });

  test('EXC-07 a hotel that is full has the flight cancelled, and the run is cancelled', async () => {
    fails('bookHotel', new NotAvailable('full'));
    const { run } = await aTrip();
    await flows.speedrun(run);
    expect(await steps(run)).toEqual([
      'bookFlight completed',
      'bookHotel skipped: NotAvailable',
      'charge skipped',
      'confirm skipped',
      ...UNDOING,
    ]);
    expect([run.status, companies.booked.size, mails, booted.reported]).toEqual(['cancelled', 0, ['sorry'], []]);
  });

  test('EXC-08 a booking that nobody answers is tried again, and paused for a person, who has all of it undone, what was never answered too', async () => {
    jest.spyOn(companies, 'charge').mockImplementation(async (_, { idempotencyKey }) => {
      companies.booked.set(idempotencyKey, 'money'); // done, and the answer lost
      throw new Unreachable('no answer');
    });
    const { run } = await aTrip();
    await flows.speedrun(run);
    expect([run.status, run.currentStep, (await run.steps()).length]).toEqual(['paused', 'charge', 2 + 35]);
    await run.resumeAt('refund', { actor: 'olga', reason: 'the bank is closed' });
    await flows.speedrun(run);
    expect((await steps(run)).slice(-4)).toEqual(UNDOING);
    expect([run.status, companies.booked.size]).toEqual(['cancelled', 0]);
  });

  test('a compensation that fails is tried again; one that is refused waits for a person; nothing is passed over', async () => {
    fails('bookHotel', new NotAvailable('full'));
    fails('refund', new Unreachable('no answer'));
    fails('cancelFlight', new Error('not refundable'));
    const { run } = await aTrip();
    await flows.speedrun(run);
    expect((await steps(run)).slice(-4)).toEqual([
      'refund failed: Unreachable',
      'refund completed',
      'cancelHotel completed',
      'cancelFlight failed: Error',
    ]);
    expect([run.status, [...companies.booked.values()]]).toEqual(['paused', ['flight']]);
    await run.resume();
    await flows.speedrun(run);
    expect([run.status, companies.booked.size]).toEqual(['cancelled', 0]);
  });

  test('a customer who cancels meanwhile stops the run before its next step, and what was booked is undone', async () => {
    const { id, run } = await aTrip();
    await flows.runStepInline(run, 'bookFlight');
    expect(await booted.app.get(Trips).cancel(id)).toBe('in time');
    expect(await booted.app.get(Trips).cancel(id)).toBe('cancelled before');
    await flows.speedrun(run);
    expect(companies.asked).toEqual(['book flight', 'undo money', 'undo hotel', 'undo flight']);
    expect([run.status, companies.booked.size, await stateOf(id)]).toEqual(['cancelled', 0, 'unwanted']);
  });

  test('one who cancels while the run is paused has it undone once somebody resumes it', async () => {
    fails('bookHotel', new Error('?'));
    const { id, run } = await aTrip();
    await flows.speedrun(run);
    expect(run.status).toBe('paused');
    expect(await booted.app.get(Trips).cancel(id)).toBe('in time');
    await run.resume();
    await flows.speedrun(run);
    expect((await steps(run)).slice(1, 3)).toEqual(['bookHotel failed: Error', 'bookHotel skipped']);
    expect([run.status, companies.booked.size]).toEqual(['cancelled', 0]);
  });

  test('FLOW-17 one who cancels between the last look and the confirmation is quicker: the trip is undone', async () => {
    const { id, run } = await aTrip();
    for (const step of ['bookFlight', 'bookHotel', 'charge']) await flows.runStepInline(run, step);
    const workflow = booted.app.get(TripWorkflow);
    const isOff = workflow.isOff.bind(workflow);
    jest.spyOn(workflow, 'isOff').mockImplementation(async (ctx) => {
      const answer = await isOff(ctx as StepContext);
      await booted.app.get(Trips).cancel(id);
      return answer;
    });
    await flows.speedrun(run);
    expect((await steps(run)).slice(-5)).toEqual(['confirm completed', ...UNDOING]);
    expect([run.status, companies.booked.size, await stateOf(id)]).toEqual(['cancelled', 0, 'unwanted']);
  });

  test('one who cancels what is booked has it undone by a run of its own, once', async () => {
    const { id, run } = await aTrip();
    await flows.speedrun(run);
    const answers = await Promise.all([1, 2].map(() => booted.app.get(Trips).cancel(id)));
    expect(new Set(answers)).toEqual(new Set(['cancelled before', 'undone later']));
    const undo = await workflows.findOngoing(UndoTripWorkflow, { id } as any);
    await flows.speedrun(undo!);
    expect([undo!.status, companies.booked.size]).toEqual(['finished', 0]);
  });
});
