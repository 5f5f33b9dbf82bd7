import { Step, Workflow, WorkflowOf, type Ctx, type StepContext } from 'nestjs-pg-workflows';
import { attempts } from './support/attempts';
import { newestRow } from './support/rows';
import { Paid, Signalled, signalScript, signalsOf } from './support/signalled';
import { held } from './support/scripted';
import { gate, workflowSuite } from './support/suite';

const order: string[] = [];

@Workflow()
class Patient extends WorkflowOf {
  @Step({
    wait: '1 hour',
    skipIf: () => void order.push('guard'),
    waitFor: { name: 'anything', matches: () => order.push('gate') > 0 },
  })
  async pay(ctx: Ctx<this, any>) {
    order.push(`body ${ctx.receivedSignal.payload.amount}`);
  }
}

const amounts = (seen: unknown[]) => ({
  pay: (ctx: StepContext) => void seen.push(ctx.receivedSignal?.payload.amount ?? null),
});

describe('the gate of a step that waits for a signal', () => {
  const suite = workflowSuite();
  const { sql, until, trail } = suite;
  const boot = () => suite.boot([Signalled, Patient]);

  test('SIG-01 the wait comes first, then the guards, then the gate', async () => {
    order.length = 0;
    const { workflows } = await boot();
    const run = await workflows.start(Patient);
    await run.signal('anything', { amount: 3 });
    // Another run goes through meanwhile, so the worker did look.
    const other = await workflows.start(Signalled, signalScript({ skipIf: () => true }));
    await until(other, 'finished');
    expect(order).toEqual([]);
    await run.runNow();
    await until(run, 'finished');
    expect(order).toEqual(['guard', 'gate', 'body 3']);
    expect(await signalsOf(sql, run)).toEqual(['anything consumed by pay#1']);
  });

  test('SIG-02 SIG-06 a signal that came before its step is kept, and taken at the gate without a wait in between', async () => {
    const seen: unknown[] = [];
    const first = held();
    const { workflows } = await boot();
    const run = await workflows.start(
      Signalled,
      signalScript({ first: first.body, pay: (ctx) => void seen.push(ctx.receivedSignal) }),
    );
    await first.reached;
    const [early, later] = [await run.signal(Paid, { amount: 1 }), await run.signal(Paid, { amount: 2 })];
    expect([early, later]).toEqual([
      expect.objectContaining({ status: 'pending', payload: { amount: 1 }, duplicateDelivery: false }),
      expect.objectContaining({ status: 'pending', payload: { amount: 2 } }),
    ]);
    expect(run.status).toBe('performing');
    first.release();
    await until(run, 'finished');
    expect(seen).toEqual([{ name: 'paid', payload: { amount: 1 } }]);
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1', 'paid pending']);
    expect((await trail(run)).slice(3, 9)).toEqual([
      'signal_received',
      'signal_received',
      'step_completed',
      'step_scheduled',
      'signal_claimed',
      'step_started',
    ]);
    expect(await trail(run)).not.toContain('step_waiting');
    const [pay] = await sql(
      `select id, waiting_since from workflow_steps where workflow_id = $1 and step_name = 'pay'`,
      [run.id],
    );
    expect(pay.waiting_since).toBeNull();
    const claimed = (await run.events()).find(({ name }) => name === 'signal_claimed');
    expect(claimed).toMatchObject({ stepId: pay.id, actor: 'system' });
  });

  test('SIG-02 receivedSignal is null in a step without waitFor, in its guards too', async () => {
    const seen: unknown[] = [];
    const { workflows } = await boot();
    const look = (ctx: StepContext) => void seen.push([ctx.stepName, ctx.receivedSignal, ctx.woken, ctx.timedOut]);
    const run = await workflows.start(
      Signalled,
      signalScript({ cancelIf: look, first: look, last: look, skipIf: () => true }),
    );
    await run.signal(Paid, {});
    await until(run, 'finished');
    const [first, last] = ['first', 'last'].map((name) => [name, null, false, false]);
    const skipped = ['pay', 'again'].map((name) => [name, null, false, false]);
    expect(seen).toEqual([first, first, ...skipped, last, last]);
    expect(await signalsOf(sql, run)).toEqual(['paid pending']);
  });

  test('SIG-03 OPS-29 OPS-30 FLOW-03 DATA-09 without one it parks; the signal wakes the same attempt, and guards are asked again', async () => {
    const seen: unknown[] = [];
    const guards: string[] = [];
    const { workflows } = await boot();
    const run = await workflows.start(
      Signalled,
      signalScript({
        ...amounts(seen),
        cancelIf: (ctx) => void (ctx.stepName === 'pay' && guards.push('cancel guard')),
        skipIf: () => void guards.push('skip guard'),
      }),
    );
    await until(run, 'waiting');
    const parked = await newestRow(sql, run);
    expect(parked).toMatchObject({ step_name: 'pay', attempt: 1, status: 'waiting', wait_for: 'paid', claim_no: 0 });
    expect(parked).toMatchObject({ available_at: null, started_at: null, worker_id: null, timeout_at: null });
    expect(guards).toEqual(['cancel guard', 'skip guard']);
    const waiting = (await run.events()).at(-1);
    expect(waiting).toMatchObject({
      name: 'step_waiting',
      stepId: parked.id,
      actor: 'system',
      details: { wait_for: 'paid' },
    });

    // Nothing of it is claimable: the worker goes on with another run, and leaves this one.
    await until(await workflows.start(Signalled, signalScript({ skipIf: () => true })), 'finished');
    expect(await newestRow(sql, run)).toEqual(parked);
    expect(seen).toEqual([]);

    const signal = await run.signal(
      Paid,
      { amount: 7 },
      { idempotencyKey: 'k', actor: 'alice', reason: 'paid by card' },
    );
    expect(signal).toMatchObject({ status: 'claimed', name: 'paid', payload: { amount: 7 }, workflowId: run.id });
    expect(run.status).toBe('ready');
    await until(run, 'finished');
    expect(seen).toEqual([7]);
    expect(guards).toEqual(['cancel guard', 'skip guard', 'cancel guard', 'skip guard']);
    expect(await attempts(run)).toEqual([
      'first#1 completed',
      'pay#1 completed',
      'again#1 skipped',
      'last#1 completed',
    ]);
    const woken = (await run.events()).slice(6, 10);
    expect(woken.map(({ name, stepId, actor, reason, details }) => [name, stepId, actor, reason, details])).toEqual([
      ['signal_received', null, 'alice', 'paid by card', { name: 'paid', idempotency_key: 'k', duplicate: false }],
      ['signal_claimed', parked.id, 'system', null, { name: 'paid' }],
      ['step_started', parked.id, 'system', null, null],
      ['step_completed', parked.id, 'system', null, null],
    ]);
    // It was due at once, from the signal on.
    const [row] = await sql(
      `select s.scheduled_at >= g.created_at as after, s.available_at = s.scheduled_at as due from workflow_steps s
       join workflow_signals g on g.claimed_by_step_id = s.id where g.workflow_id = $1`,
      [run.id],
    );
    expect(row).toEqual({ after: true, due: true });
  });

  test('SIG-06 a signal of another name wakes nothing and stays pending', async () => {
    const { workflows } = await boot();
    const run = await workflows.start(Signalled, signalScript());
    await until(run, 'waiting');
    const before = await newestRow(sql, run);
    expect(await run.signal('refunded', { amount: 1 })).toMatchObject({ status: 'pending' });
    expect(run.status).toBe('waiting');
    expect(await newestRow(sql, run)).toEqual(before);
    expect((await trail(run)).at(-1)).toBe('signal_received');
    await run.signal('paid');
    await until(run, 'finished');
    expect(await signalsOf(sql, run)).toEqual(['refunded pending', 'paid consumed by pay#1']);
  });

  test('SIG-08 of two fitting signals to one waiting step the first is claimed, the second is for a later step', async () => {
    const seen: unknown[] = [];
    const released = gate();
    const { workflows } = await boot();
    const run = await workflows.start(
      Signalled,
      signalScript({
        pay: async (ctx) => {
          seen.push(['pay', ctx.receivedSignal.payload.amount]);
          await released.opened;
        },
        again: (ctx) => void seen.push(['again', ctx.receivedSignal.payload.amount, ctx.woken]),
      }),
    );
    await until(run, 'waiting');
    expect((await run.signal(Paid, { amount: 1 })).status).toBe('claimed');
    expect((await run.signal(Paid, { amount: 2 })).status).toBe('pending');
    released.open();
    await until(run, 'finished');
    expect(seen).toEqual([
      ['pay', 1],
      ['again', 2, false],
    ]);
    expect(await signalsOf(sql, run)).toEqual(['paid consumed by pay#1', 'paid consumed by again#1']);
    expect((await trail(run)).filter((name) => name === 'step_waiting')).toHaveLength(1);
  });

  test('SIG-02 SIG-15 a signal that fits is found behind hundreds that do not, and those stay pending', async () => {
    const { workflows } = await suite.boot([Signalled], { worker: false });
    const seen: unknown[] = [];
    const run = await workflows.start(Signalled, signalScript(amounts(seen)));
    for (let sent = 0; sent < 250; sent += 1) await run.signal('other');
    await run.signal(Paid, { amount: 7 });
    await boot();
    await until(run, 'finished');
    expect(seen).toEqual([7]);
    expect((await signalsOf(sql, run)).filter((line) => line === 'other pending')).toHaveLength(250);
  });
});
