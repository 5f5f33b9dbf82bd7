import { SchedulerRegistry } from '@nestjs/schedule';
import type { StallAction } from 'nestjs-pg-workflows';
import { attemptOfClaimed, type Attempt } from '../../libs/workflow/src/engine/attempt';
import { AttemptRunner, type Begun } from '../../libs/workflow/src/engine/attempt-runner';
import { ENGINE_PARTS, type EngineParts } from '../../libs/workflow/src/engine/engine.parts';
import { memberOf, runMember } from '../../libs/workflow/src/engine/member';
import { claim, type ClaimedMember, type ClaimedRow, type Claims } from '../../libs/workflow/src/store/claim';
import { stepKey } from '../../libs/workflow/src/store/step-key';
import { Wakeup } from '../../libs/workflow/src/store/wakeup';
import { InHand } from '../../libs/workflow/src/worker/in-hand';
import { MemberQueue } from '../../libs/workflow/src/worker/member-queue';
import { SettlementQueue } from '../../libs/workflow/src/worker/settlement-queue';
import type { SuspectRow } from '../../libs/workflow/src/store/leases';
import { Stalls } from '../../libs/workflow/src/worker/stalls';
import { Sweeper } from '../../libs/workflow/src/worker/sweeper';
import type { Command } from './model-commands';
import { className, MEMBER_JOB } from './model-workflows';
import type { TestApp } from './suite';

/** How an outcome is settled. */
export type Way = (Command & { do: 'end' })['way'];

const HOUR_MS = 3_600_000;

/** What a worker's process has, of one release, each part moved by hand. */
export class Process {
  readonly parts: EngineParts;
  private readonly runner: AttemptRunner;
  private readonly wakeup = new Wakeup();
  private readonly members: MemberQueue;

  constructor(readonly app: TestApp) {
    const parts = app.app.get<EngineParts>(ENGINE_PARTS);
    this.parts = { ...parts, worker: { ...parts.worker, lease: HOUR_MS } };
    this.runner = new AttemptRunner(this.parts);
    this.members = new MemberQueue(this.parts, this.wakeup, () => undefined);
  }

  /** Claims a due step of the variant's class, in a set. */
  claimStep(variant: number): Promise<Claims> {
    const { name, steps } = this.parts.registry.require(className(variant));
    return this.claim(name, steps.filter(({ plain }) => plain).map((step) => stepKey(name, step.name))); // prettier-ignore
  }

  claimMember(): Promise<Claims> {
    return this.claim(MEMBER_JOB, []);
  }

  attemptOf(row: ClaimedRow): Attempt {
    return attemptOfClaimed(this.parts.registry, row);
  }

  /** Runs an attempt to its end, which is settled as `wayOf` says by then. Answers with the next one, when it went on in place. */
  async run(begun: Begun, wayOf: () => Way): Promise<Attempt | null> {
    let next: Attempt | null = null;
    await this.runner.run(begun, async (attempt, outcome) => {
      const way = wayOf();
      const settlements = new SettlementQueue(
        this.parts,
        this.wakeup,
        new InHand(0),
        () => way === 'in place',
        way !== 'by itself',
      );
      const answer = await settlements.settle(attempt, outcome);
      next = answer.next;
      return answer.settlement;
    });
    return next;
  }

  /** Runs a member's try to its end. Answers whether that was still wanted. */
  async runMember(row: ClaimedMember): Promise<boolean> {
    return this.members.settle(await runMember(this.parts, memberOf(this.parts.registry, row)));
  }

  async declareStalled(suspects: readonly SuspectRow[], action: StallAction): Promise<void> {
    await this.stalls(action).declareAll(suspects, 'lease');
  }

  async sweep(action: StallAction): Promise<void> {
    const scheduler = new SchedulerRegistry();
    await new Sweeper(this.acting(action), this.runner, this.stalls(action), this.wakeup, scheduler).sweep();
  }

  private claim(handler: string, plainSteps: readonly string[]): Promise<Claims> {
    const { database, settings, worker } = this.parts;
    const filter = {
      lanes: [{ queue: settings.queue, priority: 0 }],
      handlers: [handler],
      plainSteps,
      gatedSteps: [],
      inHand: [],
    };
    return database.engineConnect((connection) => claim(connection, filter, worker, 1));
  }

  /** A new one each time: it passes over for a while what it could not declare. */
  private stalls(action: StallAction): Stalls {
    return new Stalls(this.acting(action), this.runner, (end) => this.members.settle(end));
  }

  private acting(stallAction: StallAction): EngineParts {
    return { ...this.parts, settings: { ...this.parts.settings, stallAction } };
  }
}
