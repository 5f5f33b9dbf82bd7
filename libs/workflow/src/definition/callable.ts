/**
 * Something asked with a step's context: a function (`this` is the workflow instance), or the name of a method of the
 * workflow class.
 */
export type Callable<Context = any, Result = unknown> = string | ((this: any, context: Context) => Result);

/** Calls it on the workflow instance. A method's name was checked when the class loaded. */
export function call(callable: Callable, instance: object, context: unknown): unknown {
  const method = typeof callable === 'string' ? (instance as Record<string, unknown>)[callable] : callable;
  return (method as (context: unknown) => unknown).call(instance, context);
}
