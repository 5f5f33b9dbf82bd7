import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkflowModule, WorkflowService, type WorkflowHandle } from 'nestjs-pg-workflows';
import { createWorkflowTester, type WorkflowTester } from 'nestjs-pg-workflows/testing';
import { PLATFORMS, Silent } from '../support/admin';
import { pageCode } from '../support/page-code';
import { workflowSuite } from '../support/suite';

const page = pageCode('docs/how-to/webhooks.md', {
  'order.entity.ts': `
    import { Column, Entity, PrimaryColumn } from 'typeorm';
    @Entity('orders')
    export class Order {
      @PrimaryColumn('uuid') id!: string;
      @Column('int') total!: number;
    }`,
  'provider.ts': `export class Provider {}`,
});

const { signedRequest } = page('signed-request.ts');
const SECRET = `whsec_${Buffer.from('a secret of the provider').toString('base64')}`;

/** What the provider sends; `over` what a forger changes after it was signed. */
function delivery(
  event: object,
  { over, ...options }: { id?: string; at?: number; secret?: string; over?: RequestInit } = {},
): RequestInit {
  const request = signedRequest(event, { secret: SECRET, ...options });
  return { ...request, ...over };
}

describe.each(PLATFORMS)('the how-to page on webhooks, on %s', (platform) => {
  const suite = workflowSuite();
  const provider = { request: jest.fn(async () => ({ id: 'pay_1' })), refund: jest.fn() };
  let app: INestApplication;
  let workflows: WorkflowService;
  let flows: WorkflowTester;

  beforeAll(async () => {
    process.env.PAYMENTS_WEBHOOK_SECRET = `whsec_${Buffer.from('an older one').toString('base64')} ${SECRET}`;
    await suite.sql('create table orders (id uuid primary key, total int not null)');
    const { Provider } = page('provider.ts');
    const module = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: suite.database.url, autoLoadEntities: true, retryAttempts: 0 }),
        TypeOrmModule.forFeature([page('order.entity.ts').Order]),
        WorkflowModule.forRoot({ worker: false }),
      ],
      controllers: [page('payments.webhook.ts').PaymentsWebhook, page('checkouts.webhook.ts').CheckoutsWebhook],
      providers: [OrderWorkflow(), RefundWorkflow(), { provide: Provider, useValue: provider }],
    })
      .setLogger(new Silent())
      .compile();
    const adapter = platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
    app = module.createNestApplication(adapter, { rawBody: true });
    await app.init();
    if (platform === 'fastify') await (app as NestFastifyApplication).getHttpAdapter().getInstance().ready();
    await app.listen(0, '127.0.0.1');
    workflows = app.get(WorkflowService);
    flows = createWorkflowTester(app);
  });
  afterAll(() => app?.close());
  beforeEach(() => void jest.clearAllMocks());

  const OrderWorkflow = () => page('order.workflow.ts').OrderWorkflow;
  const RefundWorkflow = () => page('refund.workflow.ts').RefundWorkflow;

  async function send(to: 'payments' | 'checkouts', request: RequestInit): Promise<[status: number, outcome: string]> {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/${to}`, request);
    const { outcome } = (await answer.json()) as { outcome: string };
    return [answer.status, outcome];
  }

  async function anOrder(total = 4_200): Promise<WorkflowHandle> {
    const id = randomUUID();
    await suite.sql('insert into orders values ($1, $2)', [id, total]);
    return workflows.start(OrderWorkflow(), { subject: { id } });
  }

  const succeeded = (run: { id: string }, data: object = {}) => ({
    type: 'payment.succeeded',
    data: { payment: 'pay_1', amount: 4_200, metadata: { run: run.id }, ...data },
  });
  const statuses = async (run: WorkflowHandle) => (await run.signals()).map(({ status }) => status);
  const refunds = () =>
    suite.sql<{ id: string; args: object }>(
      `select id, arguments as args from workflows where workflow_class = 'RefundWorkflow'`,
    );

  test('SIG-03 SIG-11 AMB-16 an event wakes the run that the provider was told of, once, however often it is delivered', async () => {
    const run = await anOrder();
    await flows.runStepInline(run, 'requestPayment');
    expect(provider.request).toHaveBeenCalledWith(expect.objectContaining({ total: 4_200 }), {
      metadata: { run: run.id },
      idempotencyKey: `wf:${run.id}:requestPayment`,
    });
    await flows.performNextStep(run);
    expect(run.status).toBe('waiting');

    const event = delivery(succeeded(run));
    expect(await send('payments', event)).toEqual([200, 'the order goes on']);
    expect(await send('payments', event)).toEqual([200, 'delivered before']);
    await flows.speedrun(run);
    expect([run.status, await statuses(run)]).toEqual(['finished', ['consumed']]);

    expect(await send('payments', event)).toEqual([200, 'delivered before']);
    expect(await refunds()).toEqual([]);
    // The one that woke it, and the second; the third found the run ended, and its trail closed.
    expect((await suite.trail(run)).filter((name) => name === 'signal_received')).toHaveLength(2);
  });

  test('SIG-06 one that comes early is kept; too little money pauses the run; two at the same moment are one', async () => {
    const run = await anOrder();
    const event = delivery(succeeded(run, { amount: 1 }));
    const answers = await Promise.all([send('payments', event), send('payments', event)]);
    expect(new Set(answers.map(([, outcome]) => outcome))).toEqual(
      new Set(['delivered before', 'kept until the order asks']),
    );
    await flows.speedrun(run);
    expect([run.status, run.currentStep]).toEqual(['paused', 'acceptPayment']);
  });

  test('whoever cannot sign is not let in: a wrong key, an old delivery, a changed body or id, no signature', async () => {
    const run = await anOrder();
    const event = succeeded(run);
    const genuine = delivery(event);
    const headers = genuine.headers as Record<string, string>;
    const forged: RequestInit[] = [
      delivery(event, { secret: Buffer.from('a guess').toString('base64') }),
      delivery(event, { at: Date.now() - 600_000 }),
      delivery(event, { over: { body: JSON.stringify(succeeded(run, { amount: 1 }), null, 2) } }),
      delivery(event, { over: { body: JSON.stringify(event) } }), // the same JSON, other bytes
      { ...genuine, headers: { ...headers, 'webhook-id': randomUUID() } },
      { ...genuine, headers: { 'content-type': 'application/json' } },
    ];
    for (const request of forged) expect((await send('payments', request))[0]).toBe(401);
    expect(await run.signals()).toEqual([]);
    expect((await send('payments', genuine))[0]).toBe(200);
  });

  test('what is not for us, or for a run that is not there, is answered with 200; a payload that does not fit with an error, and nothing is stored', async () => {
    const run = await anOrder();
    const answers = [
      await send('payments', delivery({ type: 'payout.paid', data: null })),
      await send('payments', delivery(succeeded({ id: randomUUID() }))),
      await send('payments', delivery(succeeded({ id: 'of another system' }))),
    ];
    expect(answers).toEqual([[200, 'ignored'], [200, 'unknown run'], [200, 'unknown run']]); // prettier-ignore
    expect((await send('payments', delivery(succeeded(run, { amount: 'much' }))))[0]).toBe(500);
    expect(await run.signals()).toEqual([]);
  });

  test('SIG-18 STA-19 one that comes after the run was cancelled starts a refund, once', async () => {
    const run = await anOrder();
    await flows.runStepInline(run, 'requestPayment');
    await flows.performNextStep(run);
    await flows.expireWait(run);
    expect(run.status).toBe('cancelled');

    const event = delivery(succeeded(run));
    for (let n = 0; n < 2; n += 1) expect(await send('payments', event)).toEqual([200, 'too late: refunded']);
    const [refund, ...more] = await refunds();
    expect([refund.args, more]).toEqual([{ payment: 'pay_1', amount: 4_200 }, []]);
    await flows.speedrun(await workflows.find(refund.id));
    expect(provider.refund).toHaveBeenCalledWith('pay_1', { idempotencyKey: `wf:${refund.id}:refund` });
  });

  test('STA-10 STA-19 a webhook that starts a run writes its order with it; again it is known, and another event meets the run', async () => {
    const data = { checkout: randomUUID(), total: 900 };
    const event = delivery({ data });
    const other = delivery({ data: { ...data, total: 1 } });
    expect([await send('checkouts', event), await send('checkouts', event), await send('checkouts', other)]).toEqual([
      [200, 'started'],
      [200, 'delivered before'],
      [200, 'under way already'],
    ]);
    expect(await suite.sql('select total from orders where id = $1', [data.checkout])).toEqual([{ total: 900 }]);
    expect(await workflows.findOngoing(OrderWorkflow(), { id: data.checkout } as any)).toMatchObject({
      status: 'ready',
    });
  });
});
