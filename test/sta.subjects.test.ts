import { Injectable } from '@nestjs/common';
import {
  AlreadyRunningError,
  CancelIf,
  PayloadValidationError,
  Step,
  SubjectLoader,
  UnserializableValueError,
  Workflow,
  WorkflowOf,
  type Ctx,
  type LoadsSubject,
} from 'nestjs-pg-workflows';
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type DataSource,
} from 'typeorm';
import { gate, workflowSuite } from './support/suite';

@Entity({ name: 'accounts', synchronize: false })
class Account {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'text' })
  owner!: string;
}

@Entity({ name: 'seats', synchronize: false })
class Seat {
  @PrimaryColumn({ type: 'int' })
  row!: number;

  @PrimaryColumn({ type: 'text' })
  letter!: string;

  @Column({ type: 'text' })
  guest!: string;
}

@Entity({ name: 'documents', synchronize: false })
class Document {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column({ type: 'text' })
  title!: string;
}

@Entity({ name: 'counters', synchronize: false })
class Counter {
  @PrimaryColumn({ type: 'bigint' })
  number!: string;
}

/** Its key is its account. */
@Entity({ name: 'profiles', synchronize: false })
class Profile {
  @PrimaryColumn({ type: 'int', name: 'account_id' })
  accountId!: number;

  @OneToOne(() => Account, { eager: true })
  @JoinColumn({ name: 'account_id' })
  account!: Account;
}

/** Its key has a relation and a day in it. */
@Entity({ name: 'visits', synchronize: false })
class Visit {
  @ManyToOne(() => Account, { eager: true })
  @JoinColumn({ name: 'account_id' })
  @PrimaryColumn({ type: 'int', name: 'account_id' })
  account!: Account;

  @PrimaryColumn({ type: 'timestamptz' })
  at!: Date;
}

class Sku {
  constructor(readonly code: string) {}
}

/** Its key is a value object. */
@Entity({ name: 'articles', synchronize: false })
class Article {
  @PrimaryColumn({ type: 'text', transformer: { to: (sku: Sku) => sku.code, from: (code: string) => new Sku(code) } })
  sku!: Sku;
}

@Entity({ name: 'blobs', synchronize: false })
class Blobbed {
  @PrimaryColumn({ type: 'bytea' })
  key!: Buffer;
}

/** No entity: lives in a service elsewhere. */
class Customer {
  constructor(
    readonly handle: string,
    readonly name: string,
  ) {}
}

@Injectable()
class Crm {
  readonly customers = new Map<string, Customer>();
}

@SubjectLoader(Customer)
class CustomerLoader implements LoadsSubject<Customer> {
  constructor(private readonly crm: Crm) {}

  load(id: string): Promise<Customer | null> {
    return Promise.resolve(this.crm.customers.get(id) ?? null);
  }

  idOf(customer: Customer): string {
    return customer.handle;
  }
}

/** Its loader has no `idOf`: the property `id` is the id. */
class Device {
  id?: number | string;
}

@SubjectLoader(Device)
class DeviceLoader {
  load(id: string): Promise<Device | null> {
    return Promise.resolve(Object.assign(new Device(), { id }));
  }
}

const seen: unknown[] = [];
let hold = gate();

abstract class Looks<Subject> extends WorkflowOf<Subject> {
  @Step()
  async look(ctx: Ctx<this>) {
    seen.push(ctx.subject);
    await hold.opened;
  }

  @Step()
  async lookAgain(ctx: Ctx<this>) {
    seen.push(ctx.subject);
  }
}

@Workflow({ subject: Account })
class OfAccount extends Looks<Account> {}

@Workflow({ subject: Account })
class GuardedAccount extends Looks<Account> {
  static asked: unknown[] = [];

  @CancelIf()
  frozen({ subject }: Ctx<this>) {
    GuardedAccount.asked.push(subject);
    return false;
  }
}

@Workflow({ subject: Account })
class NeedsAccount extends WorkflowOf<Account> {
  @Step()
  async bill(ctx: Ctx<this>) {
    seen.push(ctx.requireSubject());
  }
}

@Workflow({ subject: Seat })
class OfSeat extends Looks<Seat> {}

@Workflow({ subject: Document })
class OfDocument extends Looks<Document> {}

@Workflow({ subject: Counter })
class OfCounter extends Looks<Counter> {}

@Workflow({ subject: Profile })
class OfProfile extends Looks<Profile> {}

@Workflow({ subject: Visit })
class OfVisit extends Looks<Visit> {}

@Workflow({ subject: Article })
class OfArticle extends Looks<Article> {}

@Workflow({ subject: Blobbed })
class OfBlobbed extends Looks<Blobbed> {}

@Workflow({ subject: Customer })
class OfCustomer extends Looks<Customer> {}

@Workflow({ subject: Device })
class OfDevice extends Looks<Device> {}

/** Declares no subject. */
@Workflow()
class OfAnything extends Looks<object> {}

const entities = [Account, Seat, Document, Counter, Profile, Visit, Article, Blobbed];
const providers = [
  Crm, CustomerLoader, DeviceLoader,
  OfAccount, GuardedAccount, NeedsAccount, OfSeat, OfDocument, OfCounter,
  OfProfile, OfVisit, OfArticle, OfBlobbed, OfCustomer, OfDevice, OfAnything,
]; // prettier-ignore

describe('the subject of a run', () => {
  // Registered first: a body that still waits would keep the application from closing.
  afterEach(() => hold.open());

  const suite = workflowSuite();
  const boot = (worker?: false) => suite.boot(providers, { entities, ...(worker === false && { worker }) });
  const account = (dataSource: DataSource, owner = 'Ottilie') => dataSource.getRepository(Account).save({ owner });
  const references = () =>
    suite.sql('select subject_type as type, subject_id as id from workflows order by created_at, id');

  beforeAll(() =>
    suite.sql(`
      create table accounts (id int generated always as identity primary key, owner text not null);
      create table seats ("row" int, letter text, guest text not null, primary key ("row", letter));
      create table documents (id uuid primary key default gen_random_uuid(), title text not null);
      create table counters (number bigint primary key);
      create table profiles (account_id int primary key);
      create table visits (account_id int, at timestamptz, primary key (account_id, at));
      create table articles (sku text primary key);
      create table blobs (key bytea primary key)`),
  );

  beforeEach(async () => {
    seen.length = 0;
    GuardedAccount.asked.length = 0;
    hold = gate();
    await suite.sql('truncate workflows, workflow_steps, workflow_events, workflow_signals');
  });

  test('STA-03 ctx.subject is the record as it is now, loaded for every attempt; only type and id are stored', async () => {
    const { workflows, dataSource } = await boot();
    const subject = await account(dataSource);
    subject.owner = 'never saved';
    const run = await workflows.start(OfAccount, { subject });
    await suite.eventually(() => seen.length === 1, 'the first step has looked');
    await dataSource.getRepository(Account).update(subject.id, { owner: 'Ulrike' });
    hold.open();
    await suite.until(run, 'finished');

    expect(seen).toEqual([
      { id: subject.id, owner: 'Ottilie' },
      { id: subject.id, owner: 'Ulrike' },
    ]);
    expect(seen[0]).toBeInstanceOf(Account);
    expect(seen[0]).not.toBe(subject);
    const stored = await suite.sql(
      `select (to_jsonb(w) #>> '{}') || (select string_agg(to_jsonb(s) #>> '{}', '') from workflow_steps s where s.workflow_id = w.id)
         || (select string_agg(to_jsonb(e) #>> '{}', '') from workflow_events e where e.workflow_id = w.id) as text from workflows w`,
    );
    expect(stored[0].text).not.toMatch(/never saved|Ottilie|Ulrike/);
    expect(await references()).toEqual([{ type: 'Account', id: String(subject.id) }]);
  });

  test('STA-04 a subject deleted since is null in guards and body, and no error by itself', async () => {
    const { workflows, dataSource, reported } = await boot();
    const subject = await account(dataSource);
    const run = await workflows.start(GuardedAccount, { subject });
    await suite.eventually(() => seen.length === 1, 'the first step has looked');
    await dataSource.getRepository(Account).delete(subject.id);
    hold.open();
    await suite.until(run, 'finished');

    expect(GuardedAccount.asked).toEqual([{ id: subject.id, owner: 'Ottilie' }, null]);
    expect(seen).toEqual([{ id: subject.id, owner: 'Ottilie' }, null]);
    expect(reported).toEqual([]);
    expect((await workflows.find(run.id)).subject).toEqual({ type: 'Account', id: String(subject.id) });
  });

  test('STA-04 requireSubject throws and names the record that is gone', async () => {
    const { workflows, dataSource, reported } = await boot();
    const subject = await account(dataSource);
    await dataSource.getRepository(Account).delete(subject.id);
    const run = await workflows.start(NeedsAccount, { subject });
    await suite.until(run, 'paused');
    expect(String(reported[0].error)).toContain(`Account ${subject.id}`);
  });

  test('STA-05 a run that was started without a subject has null for one', async () => {
    const { workflows } = await boot();
    hold.open();
    const run = await workflows.start(OfAccount);
    await suite.until(run, 'finished');
    expect(seen).toEqual([null, null]);
  });

  test('STA-03 a plain object with the key of the declared entity stands for it, whatever the type of its id', async () => {
    const { workflows, dataSource } = await boot(false);
    const { id } = await account(dataSource);
    const run = await workflows.start(OfAccount, { subject: { id } });
    expect(await references()).toEqual([{ type: 'Account', id: String(id) }]);
    for (const same of [{ id }, { id: String(id) }, Object.assign(new Account(), { id }), { id, owner: 'x' }]) {
      await expect(workflows.start(OfAccount, { subject: same as Account })).rejects.toMatchObject({
        run: { id: run.id },
      });
      expect(await workflows.findOngoing(OfAccount, same as Account)).toMatchObject({ id: run.id });
    }
  });

  test('STA-03 a composite primary key is a subject: its slot, and the record', async () => {
    const { workflows, dataSource } = await boot();
    const seats = dataSource.getRepository(Seat);
    await seats.save([{ row: 1, letter: 'a"b', guest: 'zoe' }, { row: 1, letter: 'c', guest: 'yan' }]); // prettier-ignore
    const seat = await seats.findOneByOrFail({ guest: 'zoe' });
    const run = await workflows.start(OfSeat, { subject: seat });
    await expect(workflows.start(OfSeat, { subject: seat })).rejects.toThrow(AlreadyRunningError);
    // The same key in another order, and as text: the same record, the same slot.
    const same = { letter: 'a"b', row: '1' } as unknown as Seat;
    await expect(workflows.start(OfSeat, { subject: same })).rejects.toMatchObject({ run: { id: run.id } });
    const other = await workflows.start(OfSeat, { subject: { row: 1, letter: 'c' } as Seat });
    await suite.eventually(() => seen.length === 2, 'both have looked');
    hold.open();
    await suite.until(run, 'finished');
    await suite.until(other, 'finished');
    expect(seen.map((one) => (one as Seat).guest).toSorted()).toEqual(['yan', 'yan', 'zoe', 'zoe']);
  });

  test('STA-03 a uuid is one subject however it is written, and a bigint beyond 2^53 keeps all its digits', async () => {
    const { workflows, dataSource } = await boot();
    hold.open();
    const document = await dataSource.getRepository(Document).save({ title: 'deed' });
    const counter = await dataSource.getRepository(Counter).save({ number: '9007199254740993' });
    const first = await workflows.start(OfDocument, { subject: document });
    const second = await workflows.start(OfCounter, { subject: counter });
    await suite.until(first, 'finished');
    await suite.until(second, 'finished');
    expect(await references()).toEqual([
      { type: 'Document', id: document.id },
      { type: 'Counter', id: '9007199254740993' },
    ]);
    expect(seen).toContainEqual(document);
    expect(seen).toContainEqual({ number: '9007199254740993' });

    hold = gate();
    const again = await workflows.start(OfDocument, { subject: document });
    const upper = { id: document.id.toUpperCase() } as Document;
    await expect(workflows.start(OfDocument, { subject: upper })).rejects.toMatchObject({ run: { id: again.id } });
    hold.open();
    await suite.until(again, 'finished');
  });

  test('STA-03 a key that is a relation, has a date in it, or a transformer on it, finds its record again', async () => {
    const { workflows, dataSource, reported } = await boot();
    const { manager } = dataSource;
    const owner = await account(dataSource);
    const at = new Date('2024-02-29T12:00:00.123Z');
    await suite.sql('insert into profiles values ($1)', [owner.id]);
    await suite.sql('insert into visits values ($1, $2)', [owner.id, at]);
    await suite.sql(`insert into articles values ('a-1')`);
    const profile = await manager.findOneByOrFail(Profile, { accountId: owner.id });
    const [visit] = await manager.find(Visit);
    const [article] = await manager.find(Article);
    hold.open();
    const runs = [
      await workflows.start(OfProfile, { subject: profile }),
      await workflows.start(OfVisit, { subject: visit }),
      await workflows.start(OfArticle, { subject: article }),
    ];
    for (const run of runs) await suite.until(run, 'finished', 'paused');
    expect(reported).toEqual([]);
    expect(seen).toEqual(expect.arrayContaining([profile, visit, article]));
    expect(profile.account).toEqual(owner);
    expect(seen).not.toContain(null);
    expect(await references()).toEqual([
      { type: 'Profile', id: String(owner.id) },
      { type: 'Visit', id: JSON.stringify({ account_id: String(owner.id), at: at.toISOString() }) },
      { type: 'Article', id: 'a-1' },
    ]);
  });

  test('STA-27 an entity whose key is no text, number or date is refused', async () => {
    const { workflows } = await boot(false);
    const subject = Object.assign(new Blobbed(), { key: Buffer.from('x') });
    const start = workflows.start(OfBlobbed, { subject });
    await expect(start).rejects.toThrow(UnserializableValueError);
    await expect(start).rejects.toThrow(/Blobbed \(key\).*@SubjectLoader/);
  });

  test('STA-03 a @SubjectLoader, with what it injects, loads the subjects of a type that is no entity', async () => {
    const { app, workflows } = await boot();
    const { customers } = app.get(Crm);
    const customer = new Customer('c-7', 'Cleo');
    customers.set('c-7', customer);
    const run = await workflows.start(OfCustomer, { subject: customer });
    await expect(workflows.start(OfCustomer, { subject: new Customer('c-7', 'the same') })).rejects.toMatchObject({
      run: { id: run.id },
    });
    await suite.eventually(() => seen.length === 1, 'the first step has looked');
    customers.delete('c-7');
    hold.open();
    await suite.until(run, 'finished');
    expect(seen).toEqual([customer, null]);

    const device = await workflows.start(OfDevice, { subject: Object.assign(new Device(), { id: 12 }) });
    await suite.until(device, 'finished');
    expect(await references()).toEqual([
      { type: 'Customer', id: 'c-7' },
      { type: 'Device', id: '12' },
    ]);
    expect(seen[2]).toMatchObject({ id: '12' });
  });

  test('STA-27 a subject without an id, or that nobody here can load again, is refused and nothing is stored', async () => {
    const { workflows } = await boot(false);
    const refused = async (workflow: typeof OfAnything, subject: unknown) => {
      const error: unknown = await workflows
        .start(workflow, { subject: subject as object })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UnserializableValueError);
      return (error as Error).message;
    };
    const unsaved = Object.assign(new Account(), { owner: 'new' });
    expect(await refused(OfAccount as never, unsaved)).toMatch(/OfAccount: .*Account.*no id yet.*Save it/);
    expect(await refused(OfAccount as never, { owner: 'x' })).toMatch(/no id yet/);
    expect(await refused(OfSeat as never, Object.assign(new Seat(), { row: 3 }))).toMatch(/no id yet/);
    expect(await refused(OfDevice as never, new Device())).toMatch(/Device.*no id yet/);
    class Stranger {}
    expect(await refused(OfAnything, new Stranger())).toMatch(/Stranger.*no entity.*@SubjectLoader/);
    for (const subject of [
      { id: 1 },
      Object.create(null),
      [1],
      new Map(),
      () => 1,
      7,
      'account-7',
      true,
      Symbol('s'),
    ]) {
      expect(await refused(OfAnything, subject)).toMatch(/OfAnything: the subject/);
    }
    expect(await references()).toEqual([]);
    await expect(workflows.findOngoing(OfAnything, new Stranger())).rejects.toThrow(UnserializableValueError);
  });

  test('STA-26 the id of a subject over 255 characters or with a NUL is refused before any SQL', async () => {
    const { workflows, dataSource } = await boot(false);
    await dataSource.transaction(async (manager) => {
      for (const handle of ['x'.repeat(256), 'a\0b', ' ', '']) {
        const start = workflows.start(OfCustomer, { subject: new Customer(handle, 'n'), manager });
        await expect(start).rejects.toThrow(PayloadValidationError);
        await expect(start).rejects.toThrow(/subject id/);
      }
      // Not one of them has touched the transaction.
      await workflows.start(OfCustomer, { subject: new Customer('é'.repeat(255), 'fits'), manager });
    });
    expect((await references()).map(({ id }) => id.length)).toEqual([255]);
  });
});
