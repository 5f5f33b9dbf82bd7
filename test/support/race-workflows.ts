import {
  FanOut,
  Step,
  Workflow,
  WorkflowJob,
  WorkflowOf,
  type Ctx,
  type FanOutBatch,
  type JobHandler,
  type TimeoutAction,
} from 'nestjs-pg-workflows';
import { Ticket, TicketLoader } from './ticket';

@WorkflowJob()
class Task implements JobHandler {
  async perform() {}
}

@Workflow({ subject: Ticket })
export class Two extends WorkflowOf<Ticket> {
  @Step()
  async one() {}

  @Step()
  async two() {}
}

@Workflow({ subject: Ticket })
export class One extends WorkflowOf<Ticket> {
  @Step()
  async one() {}
}

function waits(onTimeout: TimeoutAction) {
  @Workflow({ name: `Waits, then ${onTimeout}`, subject: Ticket })
  class Waits extends WorkflowOf<Ticket> {
    @Step({ waitFor: 'go', waitTimeout: '1 hour', onTimeout })
    async gate() {}

    @Step()
    async after() {}
  }
  return Waits;
}

function fans(onBatchFailure: 'pause' | 'cancel' | 'skip') {
  @Workflow({ name: `Fans, then ${onBatchFailure}`, subject: Ticket })
  class Fans extends WorkflowOf<Ticket> {
    @FanOut({ onBatchFailure })
    async fan(_ctx: Ctx<this>, batch: FanOutBatch) {
      batch.add(Task, {});
      batch.add(Task, {});
    }

    @Step()
    async after() {}
  }
  return Fans;
}

export const Waiting = {
  pause: waits('pause'),
  cancel: waits('cancel'),
  skip: waits('skip'),
  run: waits('run'),
  notify: waits('notify'),
};
export const Fanning = { pause: fans('pause'), cancel: fans('cancel'), skip: fans('skip') };

/** What an application that plays these scenes declares. */
export const SCENERY = [TicketLoader, Task, Two, One, ...Object.values(Waiting), ...Object.values(Fanning)];
