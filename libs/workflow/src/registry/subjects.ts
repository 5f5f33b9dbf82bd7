import type { DataSource, EntityManager, EntityMetadata, QueryRunner } from 'typeorm';
import type { WorkflowDefinition } from '../definition/definition.js';
import { UnserializableValueError, WorkflowDefinitionError } from '../errors.js';
import type { EntityReference, EntityReferences } from '../model/entity-reference.js';
import { assertKey } from '../model/names.js';
import { entityIdOf, whereIdIs } from './entity-id.js';
import type { LoadedSubjectLoader } from './workflow.explorer.js';

/**
 * How a subject, or an entity inside arguments, becomes a type and an id, and is found again: by the repository of a DataSource
 * that knows its class, or by a `@SubjectLoader`.
 */
export class Subjects implements EntityReferences {
  private readonly lines = new WeakMap<QueryRunner, Promise<unknown>>();

  /** @param dataSources the one with the workflow tables first */
  constructor(
    private readonly dataSources: readonly DataSource[],
    private readonly loaders: readonly LoadedSubjectLoader[],
  ) {}

  /** @throws {UnserializableValueError} for a subject without an id, or of a type that nobody here can load again */
  subjectReference(definition: WorkflowDefinition, subject: unknown): EntityReference | null {
    if (subject === undefined || subject === null) return null;
    if (typeof subject !== 'object') throw this.unknownSubject(definition, typeof subject);
    const isPlain = Object.getPrototypeOf(subject) === Object.prototype;
    if (definition.subject && !isPlain && !(subject instanceof definition.subject)) {
      throw new UnserializableValueError(
        `${definition.name} is about a ${definition.subject.name}: its subject cannot be a ${subject.constructor?.name}.`,
      );
    }
    const reference = this.referenceOf(subject) ?? this.declaredReference(definition, subject);
    if (reference === null) throw this.unknownSubject(definition, subject.constructor?.name ?? 'an object');
    if (reference === 'unsaved') {
      throw new UnserializableValueError(
        `${definition.name}: the subject (${subject.constructor?.name}) has no id yet. Save it before the run starts, in ` +
          'the same transaction if you like (pass its manager to start).',
      );
    }
    assertKey(reference.type, 'subject type');
    assertKey(reference.id, 'subject id');
    return reference;
  }

  referenceOf(value: object): EntityReference | null | 'unsaved' {
    const loader = this.loaders.find(({ type }) => value instanceof type);
    if (loader) {
      const id: unknown = loader.instance.idOf ? loader.instance.idOf(value) : (value as { id?: unknown }).id;
      return id === undefined || id === null ? 'unsaved' : { type: loader.type.name, id: String(id) };
    }
    const metadata = this.metadataOf(value.constructor);
    return metadata ? referenceBy(metadata, value) : null;
  }

  /**
   * The record as it is now, or null when it is gone. Through `manager` when that belongs to the record's DataSource, so that
   * a guard's transaction sees its own.
   */
  async load(reference: EntityReference, manager?: EntityManager): Promise<unknown> {
    const loader = this.loaders.find(({ type }) => type.name === reference.type);
    if (loader) return (await loader.instance.load(reference.id)) ?? null;
    const metadata = this.metadataNamed(reference.type);
    if (!metadata) {
      throw new WorkflowDefinitionError(
        `Nobody here can load a ${reference.type}: no DataSource has an entity of that name, and no @SubjectLoader is for it.`,
      );
    }
    const within = manager?.connection === metadata.connection ? manager : metadata.connection.manager;
    const find = () => within.getRepository(metadata.target).findOne({ where: whereIdIs(metadata, reference.id) });
    return within.queryRunner ? this.inLine(within.queryRunner, find) : find();
  }

  /** Whether a subject of that type can be loaded here. */
  canLoad(type: string): boolean {
    return this.loaders.some((loader) => loader.type.name === type) || this.metadataNamed(type) !== undefined;
  }

  /** A transaction has one connection, which answers one query at a time: what it loads is loaded one by one. */
  private inLine<T>(queryRunner: QueryRunner, find: () => Promise<T>): Promise<T> {
    const before = this.lines.get(queryRunner) ?? Promise.resolve();
    const found = before.then(find);
    this.lines.set(
      queryRunner,
      found.catch(() => undefined),
    );
    return found;
  }

  /** A plain object that stands for the declared subject: `{ id: 5 }`. */
  private declaredReference(definition: WorkflowDefinition, subject: object): EntityReference | 'unsaved' | null {
    if (Object.getPrototypeOf(subject) !== Object.prototype || !definition.subject) return null;
    const metadata = this.metadataOf(definition.subject);
    return metadata ? referenceBy(metadata, subject) : null;
  }

  private metadataOf(target: unknown): EntityMetadata | undefined {
    if (typeof target !== 'function') return undefined;
    return this.dataSources.find((source) => source.hasMetadata(target))?.getMetadata(target);
  }

  private metadataNamed(name: string): EntityMetadata | undefined {
    for (const source of this.dataSources) {
      const found = source.entityMetadatas.find((metadata) => metadata.name === name);
      if (found) return found;
    }
    return undefined;
  }

  private unknownSubject(definition: WorkflowDefinition, type: string): UnserializableValueError {
    return new UnserializableValueError(
      `${definition.name}: the subject (${type}) is no entity of a DataSource here and has no @SubjectLoader, so it could not be ` +
        'loaded again. Pass an entity, write a @SubjectLoader for its class, or pass its id in args.',
    );
  }
}

function referenceBy(metadata: EntityMetadata, value: object): EntityReference | 'unsaved' {
  const id = entityIdOf(metadata, value);
  return id === null ? 'unsaved' : { type: metadata.name, id };
}
