import {
  FanOut,
  FanOutBatch,
  Step,
  StepNotDefinedError,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type SignalMatcher,
} from 'nestjs-pg-workflows';
import { gate, workflowSuite } from './support/suite';

let held = gate();

@WorkflowJob({ queue: 'members' })
class Held {
  async perform() {
    await held.opened;
  }
}

@Workflow({ name: 'Deployed' })
class Before extends WorkflowOf {
  @FanOut()
  async fan(_ctx: Ctx<this>, batch: FanOutBatch) {
    batch.add(Held, {});
  }

  @Step()
  async last() {}
}

@Workflow({ name: 'Deployed' })
class After extends WorkflowOf {
  @Step()
  async last() {}
}

@Workflow()
class SlowMatcher extends WorkflowOf {
  @Step({
    waitFor: {
      name: 'slow',
      matches: () => {
        const until = performance.now() + 250;
        while (performance.now() < until);
        return true;
      },
    } as SignalMatcher,
  })
  async hear(_ctx: Ctx<this, any>) {}
}

describe('waits that meet another version of their class, or code that cannot be interrupted', () => {
  const suite = workflowSuite();

  test('REN-01 FAN-05 AMB-21 a batch that ends when its class no longer declares the fan-out pauses the run, and resumeAt goes on', async () => {
    held = gate();
    held.open();
    // The old version opens the batch and leaves its member to others.
    const old = await suite.boot([Before, Held], { worker: { queues: ['default'] } });
    const run = await old.workflows.start(Before);
    await suite.until(run, 'waiting');
    await old.close();
    const { workflows, reported } = await suite.boot([After, Held]);
    await suite.until(run, 'paused');
    const there = await workflows.find(run.id);
    const [fan] = await there.steps();
    expect(fan).toMatchObject({ status: 'failed', error: { class: 'StepNotDefinedError' } });
    await suite.eventually(() => reported.length > 0, 'the error is reported');
    expect(reported[0]?.error).toBeInstanceOf(StepNotDefinedError);
    await there.resumeAt('last');
    await suite.until(run, 'finished');
  });

  test('OPS-13 AMB-21 skip of a wait that the class no longer declares is refused by name, and the run waits on', async () => {
    held = gate();
    const old = await suite.boot([Before, Held]);
    const run = await old.workflows.start(Before);
    await suite.until(run, 'waiting');
    const { workflows } = await suite.boot([After], { worker: false });
    await expect((await workflows.find(run.id)).skip()).rejects.toThrow(StepNotDefinedError);
    expect((await run.reload()).status).toBe('waiting');
    held.open();
    await suite.until(run, 'finished');
  });

  test('SIG-16 FLOW-06 a matcher that holds the thread for longer than guardTimeout ends in a time-out, not in claims for ever', async () => {
    const { workflows } = await suite.boot([SlowMatcher], { guardTimeout: 100, worker: false });
    const run = await workflows.start(SlowMatcher);
    await run.signal('slow');
    await suite.boot([SlowMatcher], { guardTimeout: 100 });
    await suite.until(run, 'paused');
    const [attempt] = await run.steps();
    expect(attempt).toMatchObject({ status: 'failed', error: { class: 'StepTimedOutError' } });
    expect((await run.signals())[0]).toMatchObject({ status: 'pending' });
  });
});
