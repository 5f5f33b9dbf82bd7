import { randomUUID } from 'node:crypto';
import { InvalidTransitionError, WorkflowError, type WorkflowHandle, type WorkflowService } from 'nestjs-pg-workflows';
import type { Begun } from '../../libs/workflow/src/engine/attempt-runner';
import { fireDeadline } from '../../libs/workflow/src/engine/deadline';
import { claimGuarded } from '../../libs/workflow/src/engine/guarded-claim';
import { join } from '../../libs/workflow/src/engine/join';
import { leaseTexts, type SuspectRow } from '../../libs/workflow/src/store/leases';
import type { Ending, GuardAnswers, PlainCommand, VerbCommand } from './model-commands';
import type { Process, Way } from './model-process';
import { className, MEMBER_JOB, MODELLED, playOn, SUBJECT, type Stage } from './model-workflows';
import { lineOf, type StepRow } from './model-row-lines';
import { gate, type Suite } from './suite';

/** What is executing, until the sequence lets it end. */
interface Held<End> {
  readonly key: string;
  readonly ending: { open(value: End): void };
  readonly done: Promise<unknown>;
}

const HOUR_MS = 3_600_000;

/** The real thing: the package on PostgreSQL, without a worker that would act by itself, moved one command at a time. */
export class Real implements Stage {
  guards: GuardAnswers = LET_PASS;
  private release = 0;
  /** Their ids. */
  private readonly runs: string[] = [];
  private readonly held: Held<Ending>[] = [];
  private readonly heldMembers: Held<{ fails: boolean }>[] = [];
  /** By attempt or member: where its body tells that it is there, and waits. */
  private readonly bodies = new Map<string, { reached: { open(): void }; ending: Promise<any> }>();
  private way: Way = 'by itself';
  private remembered: SuspectRow[] = [];

  /** @param processes one of each release */
  constructor(
    private readonly processes: readonly Process[],
    private readonly suite: Suite,
    private readonly variant: number,
  ) {
    playOn(this);
  }

  endingOf(attemptKey: string): Promise<Ending> {
    return this.wait(attemptKey);
  }

  memberEndingOf(id: string): Promise<{ fails: boolean }> {
    return this.wait(id);
  }

  /** What the caller is told. */
  async perform(command: PlainCommand): Promise<string> {
    switch (command.do) {
      case 'start':
        return this.start(command.key);
      case 'claim':
        return this.claim(command.way, command.guards);
      case 'end':
        return this.end(command);
      case 'claim_member':
        return this.claimMember();
      case 'end_member':
        return this.endMember(command.which, command.fails);
      case 'lose_member':
        return this.loseMember();
      case 'join':
        return done((await join(this.now.parts, await this.newestRow())) !== null);
      case 'deadline':
        return done((await fireDeadline(this.now.parts, await this.newestRow())).fired);
      case 'two_hours_pass':
        return this.leap();
      case 'deploy':
        this.release = command.release;
        return 'done';
      case 'judge': {
        const suspects = command.of === 'remembered' ? this.remembered : await this.lapsed();
        await this.now.declareStalled(suspects, command.action);
        return 'done';
      }
      case 'sweep':
        await this.now.sweep(command.action);
        return 'done';
      case 'signal':
      case 'pause':
      case 'resume':
      case 'resume_at':
      case 'cancel':
      case 'run_now':
      case 'reschedule':
      case 'skip':
      case 'rerun': {
        const id = this.runs.at(-1 - command.run);
        return id === undefined ? 'no such run' : this.verb(await this.workflows.find(id), command).catch(refusal);
      }
    }
  }

  /** Everything that is compared. */
  async lines(): Promise<string[]> {
    const { sql } = this.suite;
    const [runs, steps, signals, events, newest] = await Promise.all([
      sql<{ id: string; status: string; current_step: string }>('select id, status, current_step from workflows'),
      sql<StepRow>(
        `select *, available_at <= statement_timestamp() as due, timeout_at <= statement_timestamp() as passed
         from workflow_steps order by coalesce(parent_step_id, id), member_index`,
      ),
      sql<{ workflow_id: string; line: string }>(
        `select g.workflow_id, concat_ws(' ', g.name, coalesce(g.idempotency_key, 'null'), g.status, s.step_name || '#' || s.attempt) as line
         from workflow_signals g left join workflow_steps s on s.id = g.claimed_by_step_id order by g.id`,
      ),
      sql<{ workflow_id: string; names: string }>(
        `select workflow_id, string_agg(name, ' ' order by id) as names from workflow_events group by workflow_id`,
      ),
      this.workflows.find(this.runs.at(-1)!),
    ]);
    if (runs.length !== this.runs.length) return [`${runs.length} runs, of which ${this.runs.length} were started`];
    return this.runs.flatMap((id, index) => {
      const { status, current_step: step } = runs.find((run) => run.id === id)!;
      const actions = id === newest.id ? `; ${newest.availableActions.join(' ')}` : '';
      return [
        `run ${index}: ${status} at ${step}${actions}`,
        ...steps.filter((row) => row.workflow_id === id).map((row) => lineOf(row, index)),
        ...signals.filter((row) => row.workflow_id === id).map(({ line }) => `  signal ${line}`),
        `  ${events.find((row) => row.workflow_id === id)?.names}`,
      ];
    });
  }

  /** After a failure: whatever is executing ends, one way or the other. */
  async letGo(): Promise<void> {
    for (const { ending } of this.held) ending.open({ how: 'return', members: 0 });
    for (const { ending } of this.heldMembers) ending.open({ fails: false });
    await Promise.allSettled([...this.held, ...this.heldMembers].map((held) => held.done));
  }

  /** The process of the release that was deployed last. */
  private get now(): Process {
    return this.processes[this.release];
  }

  private get workflows(): WorkflowService {
    return this.now.app.workflows;
  }

  private wait(key: string): Promise<any> {
    const body = this.bodies.get(key);
    if (!body) throw new Error(`Nobody expected a body of ${key} to run`);
    body.reached.open();
    return body.ending;
  }

  private async start(key: string | null): Promise<string> {
    try {
      const run = await this.workflows.start(MODELLED[this.release][this.variant], {
        subject: SUBJECT,
        ...(key !== null && { idempotencyKey: key }),
      });
      if (run.duplicateStart) return `run ${this.runs.indexOf(run.id)} again`;
      return `run ${this.runs.push(run.id) - 1}`;
    } catch (error) {
      return refusal(error);
    }
  }

  private async verb(run: WorkflowHandle, command: VerbCommand): Promise<string> {
    switch (command.do) {
      case 'signal': {
        const options = command.key === null ? {} : { idempotencyKey: command.key };
        const { status, duplicateDelivery } = await run.signal(command.name, { is: command.payload }, options);
        return duplicateDelivery ? `${status} again` : status;
      }
      case 'rerun':
        return `run ${this.runs.push((await run.rerun()).id) - 1}`;
      case 'reschedule':
        return (await run.reschedule(new Date(Date.now() + (command.later ? HOUR_MS : -HOUR_MS)))).status;
      case 'resume_at':
        return (await run.resumeAt(command.step)).status;
      case 'run_now':
        return (await run.runNow()).status;
      case 'pause':
      case 'resume':
      case 'cancel':
      case 'skip':
        return (await run[command.do]()).status;
    }
  }

  private async claim(way: 'in a set' | 'by itself', guards: GuardAnswers): Promise<string> {
    this.guards = guards;
    if (way === 'by itself') return this.claimOne(await this.newestRow());
    const { plain, guarded } = await this.now.claimStep(this.variant);
    if (plain.length + guarded.length > 1) return 'several steps of one run';
    if (guarded.length) return this.claimOne(guarded[0]);
    if (!plain.length) return 'nothing';
    await this.hold(this.now, { attempt: this.now.attemptOf(plain[0]) });
    return 'started';
  }

  private async claimOne(due: { id: string; workflowId: string }): Promise<string> {
    const claimed = await claimGuarded(this.now.parts, due);
    if (claimed.kind === 'dropped') return 'nothing';
    if (claimed.kind === 'started') await this.hold(this.now, claimed);
    if (claimed.kind === 'threw') await this.run(this.now, { ...claimed, failure: claimed });
    return claimed.kind;
  }

  /** Begins its body, and leaves it there. */
  private async hold(process: Process, begun: Begun): Promise<void> {
    const { row, step } = begun.attempt;
    const key = `wf:${row.workflowId}:${step.name}:${row.attempt}`;
    this.held.push(await this.begin(key, () => this.run(process, begun)));
  }

  private async begin<End>(key: string, run: () => Promise<unknown>): Promise<Held<End>> {
    const reached = gate();
    const ending = gate<End>();
    this.bodies.set(key, { reached, ending: ending.opened });
    const ended = run();
    await Promise.race([reached.opened, ended]);
    return { key, ending, done: ended };
  }

  private async run(process: Process, begun: Begun): Promise<void> {
    const next = await process.run(begun, () => this.way);
    if (next) await this.hold(process, { attempt: next });
  }

  private async end({ which, way, ending }: PlainCommand & { do: 'end' }): Promise<string> {
    if (!this.held.length) return 'nothing';
    const [held] = this.held.splice(which % this.held.length, 1);
    this.way = way;
    held.ending.open(ending);
    await held.done;
    return 'done';
  }

  private async claimMember(): Promise<string> {
    const process = this.now;
    const [row] = (await process.claimMember()).members;
    if (!row) return 'nothing';
    this.heldMembers.push(await this.begin(row.id, () => process.runMember(row)));
    const [{ attempt, member_index: index }] = await this.suite.sql(
      'select attempt, member_index from workflow_steps where id = $1',
      [row.id],
    );
    return `${this.runs.indexOf(row.workflow_id)} ${row.step_name}#${attempt} [${index}]`;
  }

  private async endMember(which: number, fails: boolean): Promise<string> {
    if (!this.heldMembers.length) return 'nothing';
    const [held] = this.heldMembers.splice(which % this.heldMembers.length, 1);
    held.ending.open({ fails });
    return (await held.done) ? 'done' : 'late';
  }

  private async loseMember(): Promise<string> {
    const lost = await this.suite.sql(
      `delete from workflow_steps where id = (
         select m.id from workflow_steps m join workflow_steps s on s.id = m.parent_step_id and s.status = 'waiting'
         where m.workflow_id = $1 and m.status <> 'in_progress' order by m.member_index limit 1) returning id`,
      [this.runs.at(-1)!],
    );
    return done((lost as unknown as [unknown[], number])[1] > 0);
  }

  /** Everything that was written lies two hours further back. */
  private async leap(): Promise<string> {
    const back = (columns: readonly string[]) =>
      columns.map((column) => `${column} = ${column} - interval '2 hours'`).join(', ');
    await this.suite.sql(
      `update workflow_steps set ${back(['scheduled_at', 'available_at', 'started_at', 'finished_at', 'lease_expires_at', 'waiting_since', 'timeout_at', 'stopped_timeout_at', 'created_at'])}`,
    );
    await this.suite.sql(`update workflows set ${back(['created_at', 'updated_at', 'paused_at', 'ended_at'])}`);
    this.remembered = await this.lapsed();
    return 'done';
  }

  /** As another worker's judge of leases finds it. */
  private async lapsed(): Promise<SuspectRow[]> {
    const { look } = leaseTexts(this.now.parts.database.tables);
    const rows = await this.suite.sql<SuspectRow>(look, [randomUUID(), [className(this.variant), MEMBER_JOB], '0']);
    return rows.filter(({ id }) => id !== null);
  }

  /** The newest attempt of the newest run. */
  private async newestRow(): Promise<{ id: string; workflowId: string }> {
    const workflowId = this.runs.at(-1)!;
    const [{ id }] = await this.suite.sql<{ id: string }>(
      'select max(id)::text as id from workflow_steps where workflow_id = $1 and member_index = -1',
      [workflowId],
    );
    return { id, workflowId };
  }
}

const LET_PASS: GuardAnswers = { cancel: false, skip: false, throws: null };

function done(did: boolean): string {
  return did ? 'done' : 'nothing';
}

/** An error that a caller may expect, in words; any other is shown whole. */
function refusal(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  const kind = error.constructor.name;
  if (error instanceof InvalidTransitionError) {
    return `${kind}: ${error.verb} while ${error.status}, allowed: ${error.allowed.join(' ')}`;
  }
  return error instanceof WorkflowError || kind === 'Boom' ? kind : `threw ${error.stack}`;
}
