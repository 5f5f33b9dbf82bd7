import { Controller, Get, Inject, Injectable, type ModuleMetadata, type Type } from '@nestjs/common';
import { ENGINE_PARTS, type EngineParts } from './engine/engine.parts.js';
import { WorkflowConfigurationError } from './errors.js';
import { forbiddenPairs, laneAges, type ForbiddenPair } from './store/sweep.js';
import { inTime } from './worker/in-time.js';
import { monotonic } from './worker/monotonic.js';
import { WorkflowRuntime } from './workflow.runtime.js';

/** What a health check says of this process and of the tables it works on. Ages are in seconds. */
export interface WorkflowHealth {
  /** `down`: the database does not answer, or this process is to claim due steps and does not. */
  readonly status: 'up' | 'down';
  /** What is wrong, when it is down. */
  readonly problem?: string;
  /** `down`: it did not answer within five seconds. */
  readonly database: 'up' | 'down';
  /** `none`: a process without a worker. */
  readonly dispatcher: 'alive' | 'failing' | 'silent' | 'starting' | 'none';
  /**
   * `listening`: wakes at once; `deaf`: connected, but notifications do not arrive (a transaction pooler); `connecting`, `off`. Polling carries on in
   * each of them.
   */
  readonly listener: 'listening' | 'deaf' | 'connecting' | 'off';
  /** Since due steps were last looked for; null: not yet, or no worker. */
  readonly secondsSinceLook: number | null;
  /** Since leases were last renewed; null: not yet, or no worker. */
  readonly secondsSinceRenewal: number | null;
  /** Since a sweep ended in this process; null: none did, another process may have. */
  readonly secondsSinceSweep: number | null;
  /** For how long the oldest due step, of any class and queue, has been due; 0: none is; null: not known. */
  readonly oldestDueStepSeconds: number | null;
  /** Runs whose status does not go with their step's: somebody edited rows. At most twenty, as of the last look, which is a minute old at most; older where so much is open that a look takes seconds. */
  readonly inconsistentRuns: readonly {
    /** The run's id. */
    readonly id: string;
    /** Its status. */
    readonly status: string;
    /** The status of its newest attempt; null: it has none. */
    readonly stepStatus: string | null;
  }[];
}

/** The database has this long to answer. */
const ANSWER_MS = 5_000;
/** What fails for shorter than this may be a restart. */
const LEAST_PATIENCE_MS = 10_000;
/** A look at all open rows is not for every probe: this seldom, and more seldom when it takes long. */
const PAIRS_FOR_MS = 60_000;
const PAIRS_FOR_TIMES = 50;
/** With a million open rows it takes seconds. No probe waits for that, and none fails by it. */
const PAIRS_ANSWER_MS = 120_000;
const PAIRS_PATIENCE_MS = 800;

/**
 * Says whether this process does its part, for `@nestjs/terminus` or any other health check.
 *
 * It is down when the database does not answer within five seconds, and, in a worker, when due steps could not be looked for or claimed during ten polls (at
 * least ten seconds), or leases were not renewed for longer than they last. What concerns the data and not this process (an old due step, an inconsistent run) is told and does not make it down: restarting the process would
 * not help.
 *
 * @example
 * ```ts
 * @Get('health')
 * @HealthCheck()
 * check() {
 *   return this.health.check([() => this.workflows.isHealthy('workflows')]);
 * }
 * ```
 */
@Injectable()
export class WorkflowHealthIndicator {
  private pairs: readonly ForbiddenPair[] = [];
  /** When they are looked for again (`monotonic()`). */
  private pairsDueAt = -Infinity;
  private pairing: Promise<void> | undefined;

  /** @internal */
  constructor(
    @Inject(ENGINE_PARTS) private readonly parts: EngineParts,
    @Inject(WorkflowRuntime) private readonly runtime: WorkflowRuntime,
  ) {}

  /**
   * Never throws: what is wrong stands in the answer.
   *
   * @param key what the answer stands under
   */
  async isHealthy<Key extends string = 'workflows'>(
    key: Key = 'workflows' as Key,
  ): Promise<Record<Key, WorkflowHealth>> {
    return { [key]: await this.health() } as Record<Key, WorkflowHealth>;
  }

  private async health(): Promise<WorkflowHealth> {
    const state = this.runtime.state;
    const age = (at: number | null | undefined) => (at == null ? null : Math.round(monotonic() - at) / 1_000);
    const asked = await this.ask();
    if (!('error' in asked)) await inTime(this.findPairs(), PAIRS_PATIENCE_MS);
    const dispatcher = this.dispatcher();
    const problems = [
      ...('error' in asked ? [`the database did not answer: ${asked.error}`] : []),
      ...(dispatcher === 'silent' ? ['due steps are not looked for'] : []),
      ...(dispatcher === 'failing' ? [`due steps cannot be claimed: ${state!.failing!.reason}`] : []),
      ...(this.isUnrenewed() ? ['leases are not renewed: what is in progress here will be declared stalled'] : []),
    ];
    return {
      status: problems.length ? 'down' : 'up',
      ...(problems.length && { problem: problems.join('; ') }),
      database: 'error' in asked ? 'down' : 'up',
      dispatcher,
      listener: state?.listener ?? 'off',
      secondsSinceLook: age(state?.lookedAt),
      secondsSinceRenewal: age(state?.renewedAt),
      secondsSinceSweep: age(state?.sweptAt),
      oldestDueStepSeconds: 'error' in asked ? null : asked.oldestDueStepSeconds,
      inconsistentRuns: this.pairs.map(({ id, status, step_status: stepStatus }) => ({
        id,
        status,
        stepStatus,
      })),
    };
  }

  private dispatcher(): WorkflowHealth['dispatcher'] {
    const { state } = this.runtime;
    const { worker } = this.parts.settings;
    if (!state || !worker) return 'none';
    const patience = Math.max(LEAST_PATIENCE_MS, worker.pollInterval * 10);
    if (state.failing && monotonic() - state.failing.since > patience) return 'failing';
    if (state.lookedAt === null) return 'starting';
    return monotonic() - state.lookedAt > patience ? 'silent' : 'alive';
  }

  private isUnrenewed(): boolean {
    const renewedAt = this.runtime.state?.renewedAt ?? null;
    return renewedAt !== null && monotonic() - renewedAt > this.parts.worker.lease;
  }

  private async ask(): Promise<{ oldestDueStepSeconds: number } | { error: string }> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<{ error: string }>((resolve) => {
      const error = `none within ${ANSWER_MS / 1_000} s; it is away, or the pool has no connection to give`;
      timer = setTimeout(() => resolve({ error }), ANSWER_MS);
    });
    const looked = this.look().catch((error: unknown) => ({
      error: error instanceof Error ? error.message || error.name : String(error),
    }));
    const answer = await Promise.race([looked, late]);
    clearTimeout(timer);
    return answer;
  }

  private look(): Promise<{ oldestDueStepSeconds: number }> {
    return this.parts.database.connect(async (connection) => {
      const ages = await laneAges(connection);
      return { oldestDueStepSeconds: Math.round(Math.max(0, ...ages.map(({ due_for }) => due_for))) / 1_000 };
    }, ANSWER_MS);
  }

  /** Looks again when it is time. Whoever asks while it does is not kept: the answer of the look before stands. */
  private findPairs(): Promise<void> {
    const begun = monotonic();
    if (this.pairing || begun < this.pairsDueAt) return Promise.resolve();
    this.pairing = this.parts.database
      .connect((connection) => forbiddenPairs(connection), PAIRS_ANSWER_MS)
      .then((found) => void (this.pairs = found))
      // It says nothing of this process or its database: that is asked for apart.
      .catch(() => undefined)
      .finally(() => {
        const now = monotonic();
        this.pairsDueAt = now + Math.max(PAIRS_FOR_MS, (now - begun) * PAIRS_FOR_TIMES);
        this.pairing = undefined;
      });
    return this.pairing;
  }
}

/** What `@nestjs/terminus` is used for. It is loaded only when an application asks for the ready-made endpoint. */
interface Terminus {
  readonly TerminusModule: Type;
  readonly HealthCheckService: Type<{ check(indicators: (() => Promise<object>)[]): Promise<unknown> }>;
  readonly HealthCheck: () => MethodDecorator;
}

function terminus(): Terminus {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an optional peer
    return require('@nestjs/terminus') as Terminus;
  } catch (error) {
    throw new WorkflowConfigurationError(
      'WorkflowModule: "healthPath" needs @nestjs/terminus, which could not be loaded: npm install @nestjs/terminus, or leave "healthPath" out ' +
        'and use WorkflowHealthIndicator in a controller of your own.',
      { cause: error },
    );
  }
}

/** `GET <path>`, answered by Terminus: 200 when all is up, else 503. */
export function healthEndpoint(path: string): Required<Pick<ModuleMetadata, 'imports' | 'controllers'>> {
  const { TerminusModule, HealthCheckService, HealthCheck } = terminus();

  @Controller(path)
  class WorkflowHealthController {
    constructor(
      @Inject(HealthCheckService) private readonly health: InstanceType<typeof HealthCheckService>,
      @Inject(WorkflowHealthIndicator) private readonly indicator: WorkflowHealthIndicator,
    ) {}

    @Get()
    @HealthCheck()
    check(): Promise<unknown> {
      return this.health.check([() => this.indicator.isHealthy()]);
    }
  }

  return { imports: [TerminusModule], controllers: [WorkflowHealthController] };
}
