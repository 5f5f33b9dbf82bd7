// @ts-check
// A typedoc plugin: parameters of public functions and methods are documented too. Typedoc's own check of them also asks for those of
// callbacks, whose option says what they are given.

import { Application, ReflectionKind } from 'typedoc';

/** Functions, methods and constructors: not the types of callbacks. */
const CALLABLE = [ReflectionKind.Function, ReflectionKind.Method, ReflectionKind.Constructor];

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.on(Application.EVENT_VALIDATE_PROJECT, (project) => {
    for (const signature of Object.values(project.reflections)) {
      if (!signature.isSignature() || !CALLABLE.some((kind) => signature.parent.kindOf(kind))) continue;
      // What Nest's interfaces ask for is described there.
      if (isOfCallback(signature) || signature.inheritedFrom || signature.implementationOf) continue;
      for (const parameter of signature.parameters ?? []) {
        if (parameter.hasComment()) continue;
        app.logger.validationWarning(`${parameter.getFriendlyFullName()} has no @param that says what it is`);
      }
    }
  });
}

/** @param {import('typedoc').Reflection} reflection */
function isOfCallback(reflection) {
  if (reflection.name === '__type') return true;
  for (let at = reflection.parent; at; at = at.parent) if (at.kindOf(ReflectionKind.Parameter)) return true;
  return false;
}
