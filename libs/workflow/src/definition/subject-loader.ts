import { hasMethod, isClass, type AnyClass } from './class-value.js';
import { badOption, classLabel, definitionError } from './definition-error.js';

/** A provider with `@SubjectLoader(Type)`: loads subjects that are no entities of the DataSource. */
export interface LoadsSubject<Subject> {
  /**
   * The subject of that id, or null when it is gone. Asked for every attempt.
   *
   * @param id what `idOf` gave
   */
  load(id: string): Promise<Subject | null>;
  /**
   * The id to store. Default: the subject's `id`.
   *
   * @param subject what `start` or a signal was given
   */
  idOf?(subject: Subject): string;
}

/** One a class with `@SubjectLoader()`. */
export interface SubjectLoaderDefinition {
  readonly target: AnyClass;
  /** The type of the subjects it loads. */
  readonly type: AnyClass;
}

export function buildSubjectLoader(target: AnyClass, type: unknown): SubjectLoaderDefinition {
  const place = { owner: classLabel(target) };
  if (!isClass(type)) throw badOption(place, 'type', type, "the subjects' class, as in @SubjectLoader(Customer)");
  if (!hasMethod(target, 'load')) {
    throw definitionError(
      place,
      '@SubjectLoader() needs a method load(id), which returns the subject or null; write one.',
    );
  }
  return Object.freeze({ target, type });
}
