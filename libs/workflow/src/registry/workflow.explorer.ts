import { Logger } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { isClass, type AnyClass } from '../definition/class-value.js';
import { definitionOf, hasStepDeclarations, jobOf, subjectLoaderOf } from '../definition/declarations.js';
import type { LoadsSubject, SubjectLoaderDefinition } from '../definition/subject-loader.js';
import { WorkflowDefinitionError } from '../errors.js';
import { WorkflowRegistry } from './workflow.registry.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

export interface LoadedSubjectLoader extends SubjectLoaderDefinition {
  readonly instance: LoadsSubject<unknown>;
}

/** What the application's modules hold for us. */
export interface Explored {
  readonly registry: WorkflowRegistry;
  readonly subjectLoaders: readonly LoadedSubjectLoader[];
  readonly dataSources: readonly DataSource[];
}

/** Finds workflow classes, job handlers, subject loaders and DataSources among the providers of all modules. */
export class WorkflowExplorer {
  private readonly logger = new Logger('WorkflowModule');
  private explored: Explored | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Looks once, when first asked: by then Nest has made every provider. */
  explore(): Explored {
    return (this.explored ??= this.look());
  }

  private look(): Explored {
    const registry = new WorkflowRegistry();
    const subjectLoaders: LoadedSubjectLoader[] = [];
    const dataSources = new Set<DataSource>();
    for (const wrapper of this.discovery.getProviders()) {
      const target = classOf(wrapper);
      if (wrapper.instance instanceof DataSource) dataSources.add(wrapper.instance);
      if (!target) continue;
      const definition = definitionOf(target);
      const loader = subjectLoaderOf(target);
      if (!definition && hasStepDeclarations(target)) throw undecorated(target);
      if (definition || loader || jobOf(target)) assertSingleton(wrapper, target);
      // A test's stand-in under the class as its token, say: it has none of the steps.
      if (!(wrapper.instance instanceof target)) continue;
      if (definition) {
        registry.add({ definition, instance: wrapper.instance as object });
        this.warnOfShortName(definition.name, target);
      }
      const job = jobOf(target);
      if (job) registry.addJob({ definition: job, instance: wrapper.instance as object });
      if (loader) subjectLoaders.push({ ...loader, instance: wrapper.instance as LoadsSubject<unknown> });
    }
    return { registry, subjectLoaders, dataSources: [...dataSources] };
  }

  /** `name:` was not given and the class is called "a" or "Wf": most likely a minifier's work. */
  private warnOfShortName(name: string, target: { name: string }): void {
    if (name !== target.name || name.length > 2) return;
    this.logger.warn(
      `The workflow class "${name}" has a very short name: if a minifier chose it, the next build may choose another, and runs ` +
        'under way would be left alone. Give it one with @Workflow({ name }).',
    );
  }
}

/**
 * The class that carries the decorators: of the instance, for providers by useFactory, useExisting and useValue too; else the
 * token, for a subclass that takes the class's place, and for a factory that makes one a request.
 */
function classOf({ instance, metatype, token }: Wrapper): AnyClass | undefined {
  const own = [(instance as object | null)?.constructor, metatype].find(
    (candidate) => isClass(candidate) && (isDefined(candidate) || hasStepDeclarations(candidate)),
  );
  return (own ?? (isDefined(token) ? token : undefined)) as AnyClass | undefined;
}

function isDefined(target: unknown): boolean {
  return Boolean(definitionOf(target) ?? subjectLoaderOf(target) ?? jobOf(target));
}

function assertSingleton(wrapper: Wrapper, target: { name: string }): void {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return;
  throw new WorkflowDefinitionError(
    `${target.name} is ${wrapper.isTransient ? 'transient' : 'request-scoped'} (itself, or by something it injects): steps run ` +
      'long after the request, so there is none to make it for. Give it the default scope, and inject what it needs by ModuleRef.',
  );
}

function undecorated(target: { name: string }): WorkflowDefinitionError {
  return new WorkflowDefinitionError(
    `${target.name} has steps but no @Workflow(): decorate the class itself (a parent's @Workflow() is not inherited).`,
  );
}
