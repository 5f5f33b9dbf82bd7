import type { WorkflowDefinition } from '../definition/definition.js';
import { WorkflowNotFoundError } from '../errors.js';
import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { Connection } from '../store/connection.js';
import type { Database } from '../store/database.js';
import type { WorkflowSettings } from '../workflow.options.js';
import { classNumbers, standing } from './class-numbers.js';
import { DURATION_BOUNDS, durationsOf, funnelOf, revisionsOf, seriesOf, totalOf } from './class-page.js';
import type { DefinitionListView, DefinitionSummary, DefinitionView } from './definition-views.js';
import { KnownClasses } from './known-classes.js';
import { Links } from './links.js';
import { endedNumbers, ongoingNumbers, type Gravestones } from './list-numbers.js';
import { percentilesOf } from './percentiles.js';
import { pipelineOf, stepNames } from './pipeline.js';
import { beginReading } from './planning.js';
import { readSnapshot } from './snapshot.js';
import { stuckParameters, stuckRuns } from './stuck.js';
import type { Window } from './views.js';
import { assertWindow, DEFAULT_WINDOW, Span } from './window.js';

/** What {@link DefinitionReads} works with. */
export interface DefinitionParts {
  readonly database: Database;
  /** Looked for when first read: Nest has to have made every provider. */
  readonly registry: WorkflowRegistry;
  readonly settings: Pick<WorkflowSettings, 'retention' | 'stallThreshold' | 'waitingVisibilityThreshold'>;
}

/**
 * What workflow classes are and how they do: all of them as a list, and one in detail. Each answer is of one moment, the database's.
 *
 * @example
 * ```ts
 * const reads = new DefinitionReads({ database, registry, settings });
 * const { definitions } = await reads.definitions('24h');
 * const page = await reads.definition('OrderWorkflow', '7d');
 * ```
 */
export class DefinitionReads {
  private readonly known = new KnownClasses();

  constructor(private readonly parts: DefinitionParts) {}

  /**
   * Every class that is loaded here or has runs in the tables.
   *
   * @param window how far back is looked; default `24h`
   * @param now the window's end; default: the database's clock
   * @throws {InvalidQueryError} for another window than 1h, 24h, 7d, 30d
   */
  async definitions(window: Window = DEFAULT_WINDOW, now?: Date): Promise<DefinitionListView> {
    assertWindow(window);
    return readSnapshot(this.parts.database, async (connection) => {
      const at = await beginReading(connection);
      const span = this.spanOf(window, now ?? at);
      const known = await this.known.look(connection, at.getTime());
      const ended = byClass(await endedNumbers(connection, span));
      const ongoing = byClass(await ongoingNumbers(connection, this.gravestones()));
      const stuck = await this.stuck(connection, null);

      const loaded = this.parts.registry.workflowNames();
      const names = new Set([...loaded, ...known, ...ongoing.keys(), ...ended.keys()]);
      const definitions = [...names].toSorted().map((name): DefinitionSummary => {
        const links = new Links(name, span.view);
        const definition = this.parts.registry.get(name)?.definition;
        const { finished = 0, cancelled = 0, us = null } = ended.get(name) ?? {};
        const stands = ongoing.get(name);
        return {
          class: name,
          ...whetherLoaded(definition),
          ongoing: links.runs(stands?.ongoing ?? 0, { state: 'ongoing' }),
          paused: links.runs(stands?.paused ?? 0, { state: 'paused' }),
          need_attention: links.attention(stuck.get(name) ?? 0),
          on_gravestones: definition ? (stands?.on_gravestones ?? 0) : null,
          finished: links.ended(finished, 'finished'),
          cancelled: links.ended(cancelled, 'cancelled'),
          end_to_end: percentilesOf(us, finished),
        };
      });
      return { window: span.view, definitions };
    });
  }

  /**
   * One class, loaded here or not.
   *
   * @param name as `@Workflow({ name })` has it, the class's name by default
   * @throws {WorkflowNotFoundError} when no class of this name is loaded and no run in the tables has it
   * @throws {InvalidQueryError} for another window than 1h, 24h, 7d, 30d
   */
  async definition(name: string, window: Window = DEFAULT_WINDOW, now?: Date): Promise<DefinitionView> {
    assertWindow(window);
    return readSnapshot(this.parts.database, async (connection) => {
      const at = await beginReading(connection);
      const span = this.spanOf(window, now ?? at);
      const definition = this.parts.registry.get(name)?.definition;
      if (!definition && !(await this.known.look(connection, at.getTime())).has(name)) throw this.unknown(name);

      const numbers = await classNumbers(connection, name, span, DURATION_BOUNDS);
      const stands = await standing(connection, name);
      const stuck = await this.stuck(connection, name);
      const links = new Links(name, span.view);
      const steps = stepNames(definition, numbers, stands);
      const runs = (of: (one: (typeof stands)[number]) => boolean) =>
        stands.filter(of).reduce((total, one) => total + one.runs, 0);
      return {
        class: name,
        ...whetherLoaded(definition),
        window: span.view,
        ongoing: links.runs(
          runs(() => true),
          { state: 'ongoing' },
        ),
        paused: links.runs(
          runs(({ status }) => status === 'paused'),
          { state: 'paused' },
        ),
        need_attention: links.attention(stuck.get(name) ?? 0),
        on_gravestones: definition ? runs(({ step }) => definition.step(step)?.kind === 'removed') : null,
        started: links.started(totalOf(numbers.series, 'started')),
        finished: links.ended(numbers.finished.runs, 'finished'),
        cancelled: links.ended(totalOf(numbers.series, 'cancelled'), 'cancelled'),
        end_to_end: percentilesOf(numbers.finished.us, numbers.finished.runs),
        pipeline: pipelineOf(steps, definition, numbers, stands, links),
        series: seriesOf(numbers.series, span, links),
        durations: durationsOf(numbers.durations),
        funnel: funnelOf(steps, numbers, links),
        revisions: revisionsOf(numbers.revisions),
      };
    });
  }

  private spanOf(window: Window, to: Date): Span {
    return new Span(window, to, this.parts.settings.retention);
  }

  /** How many runs need a person, by class. */
  private async stuck(connection: Connection, name: string | null): Promise<Map<string, number>> {
    const rows = await connection.ask<{ workflow_class: string; runs: number }>(
      (t) => `select workflow_class, count(*)::float8 as runs from (${stuckRuns(t, 1)}) stuck group by workflow_class`,
      stuckParameters(this.parts.settings, name),
    );
    return new Map(rows.map(({ workflow_class, runs }) => [workflow_class, runs]));
  }

  private gravestones(): Gravestones {
    const removed = this.parts.registry
      .all()
      .flatMap(({ definition }) =>
        definition.steps.filter(({ kind }) => kind === 'removed').map((step) => [definition.name, step.name] as const),
      );
    return { classes: removed.map(([name]) => name), steps: removed.map(([, step]) => step) };
  }

  private unknown(name: string): WorkflowNotFoundError {
    const loaded = this.parts.registry.workflowNames();
    return new WorkflowNotFoundError(
      `There is no workflow class ${JSON.stringify(name)}: it is not loaded in this process, and no run in the tables has it. ` +
        `Loaded: ${loaded.join(', ') || 'none'}.`,
    );
  }
}

function whetherLoaded(definition: WorkflowDefinition | undefined): Pick<DefinitionSummary, 'loaded' | 'note'> {
  return definition
    ? { loaded: true, note: null }
    : {
        loaded: false,
        note: 'The definition is not loaded in this process: its steps are those that its runs have had.',
      };
}

function byClass<Row extends { readonly workflow_class: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.workflow_class, row]));
}
