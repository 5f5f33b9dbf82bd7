import type { WorkflowDefinition } from '../definition/definition.js';
import type { JobDefinition } from '../definition/job.js';
import { definitionOf } from '../definition/declarations.js';
import { WorkflowDefinitionError } from '../errors.js';

/** A workflow class as this process has it. */
export interface LoadedWorkflow {
  readonly definition: WorkflowDefinition;
  /** The provider that Nest made. */
  readonly instance: object;
}

/** A fan-out job's handler as this process has it. */
export interface LoadedJob {
  readonly definition: JobDefinition;
  /** The provider that Nest made. */
  readonly instance: object;
}

/** The workflow classes and job handlers of this process, by name. They share their names: one column of the tables holds both. */
export class WorkflowRegistry {
  private readonly workflows = new Map<string, LoadedWorkflow>();
  private readonly handlers = new Map<string, LoadedJob>();

  /** @throws {WorkflowDefinitionError} when another class has the name already */
  add(loaded: LoadedWorkflow): void {
    if (this.isNew(loaded.definition)) this.workflows.set(loaded.definition.name, loaded);
  }

  /** @throws {WorkflowDefinitionError} when another class has the name already */
  addJob(loaded: LoadedJob): void {
    if (this.isNew(loaded.definition)) this.handlers.set(loaded.definition.name, loaded);
  }

  job(name: string): LoadedJob | undefined {
    return this.handlers.get(name);
  }

  jobs(): readonly LoadedJob[] {
    return [...this.handlers.values()];
  }

  get(name: string): LoadedWorkflow | undefined {
    return this.workflows.get(name);
  }

  /** The definition of a class or a name, which must be loaded here: there must be somebody to say what comes next. */
  require(workflow: unknown): WorkflowDefinition {
    const name = typeof workflow === 'string' ? workflow : definitionOf(workflow)?.name;
    const loaded = name === undefined ? undefined : this.workflows.get(name);
    if (!loaded || (typeof workflow === 'function' && loaded.definition.target !== workflow)) {
      throw new WorkflowDefinitionError(this.missing(workflow, name));
    }
    return loaded.definition;
  }

  all(): readonly LoadedWorkflow[] {
    return [...this.workflows.values()];
  }

  /** Names of the classes and the jobs: whose rows this process can work on. */
  handlerNames(): readonly string[] {
    return [...this.workflows.keys(), ...this.handlers.keys()];
  }

  workflowNames(): readonly string[] {
    return [...this.workflows.keys()];
  }

  private isNew({ name, target }: { readonly name: string; readonly target: { readonly name: string } }): boolean {
    const other = (this.workflows.get(name) ?? this.handlers.get(name))?.definition.target;
    if (other && other !== target) {
      throw new WorkflowDefinitionError(
        `Two workflow or job classes have the name "${name}": ${other.name} and ${target.name}. ` +
          'Give one of them another with @Workflow({ name }) or @WorkflowJob({ name }).',
      );
    }
    return !other;
  }

  private missing(workflow: unknown, name: string | undefined): string {
    const label = typeof workflow === 'function' ? workflow.name : String(workflow);
    if (name === undefined) {
      return `${label} is no workflow class: decorate it with @Workflow() and list it in the providers of a module.`;
    }
    return (
      `The workflow class ${label} is not loaded in this process: list it in the providers of a module. ` +
      `Loaded: ${[...this.workflows.keys()].join(', ') || 'none'}.`
    );
  }
}
