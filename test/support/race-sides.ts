import { ENGINE_PARTS, type EngineParts } from '../../libs/workflow/src/engine/engine.parts';
import { claimGuarded } from '../../libs/workflow/src/engine/guarded-claim';
import { claim } from '../../libs/workflow/src/store/claim';
import { stepKeys } from '../../libs/workflow/src/store/step-key';
import { Wakeup } from '../../libs/workflow/src/store/wakeup';
import { InHand } from '../../libs/workflow/src/worker/in-hand';
import { SettlementQueue } from '../../libs/workflow/src/worker/settlement-queue';
import type { TestApp } from './suite';

/** One side of a race: what a process has, without a worker that would act by itself. */
export class Side {
  readonly parts: EngineParts;
  readonly settlements: SettlementQueue;

  /** @param inPlace whether its settlements go on with the next step in place */
  constructor(
    readonly app: TestApp,
    inPlace: boolean,
  ) {
    this.parts = app.app.get<EngineParts>(ENGINE_PARTS);
    this.settlements = new SettlementQueue(this.parts, new Wakeup(), new InHand(0), () => inPlace, true);
  }

  /** Takes due rows as a worker does: plain ones in a set, guarded ones one by one. Answers with the runs of those it took. */
  async claim(passOver: readonly string[]): Promise<string[]> {
    const { database, registry, worker } = this.parts;
    const filter = {
      lanes: [{ queue: this.parts.settings.queue, priority: 0 }],
      handlers: registry.workflowNames(),
      plainSteps: stepKeys(registry.all(), (step) => step.plain),
      gatedSteps: stepKeys(registry.all(), (step) => step.gated),
      inHand: [...passOver],
    };
    const taken: string[] = [];
    for (;;) {
      const { plain, guarded, full } = await database.engineConnect((connection) =>
        claim(connection, filter, worker, 64),
      );
      taken.push(...plain.map(({ workflow_id: id }) => id));
      const claims = await Promise.all(
        guarded.map(async (due) => ({ due, kind: (await claimGuarded(this.parts, due)).kind })),
      );
      taken.push(...claims.filter(({ kind }) => kind !== 'dropped').map(({ due }) => due.workflowId));
      filter.inHand.push(...guarded.map(({ id }) => id));
      if (!full) return taken;
    }
  }
}
