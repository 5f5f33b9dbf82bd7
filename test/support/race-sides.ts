import { ENGINE_PARTS, type EngineParts } from '../../libs/workflow/src/engine/engine.parts';
import { claimGuarded } from '../../libs/workflow/src/engine/guarded-claim';
import { claim, plainStepKey } from '../../libs/workflow/src/store/claim';
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
    const definitions = registry.all().map(({ definition }) => definition);
    const keysOf = (kind: 'plain' | 'gated') =>
      definitions.flatMap(({ name, steps }) =>
        steps.filter((step) => step[kind]).map((step) => plainStepKey(name, step.name)),
      );
    const filter = {
      lanes: [{ queue: this.parts.settings.queue, priority: 0 }],
      handlers: definitions.map(({ name }) => name),
      plainSteps: keysOf('plain'),
      gatedSteps: keysOf('gated'),
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
