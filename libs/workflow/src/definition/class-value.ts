/** Any class, abstract ones included. */
export type AnyClass<T = unknown> = abstract new (...args: never[]) => T;

/** Whether it is a class (or an old-style constructor function): arrow functions and methods are not. */
export function isClass(value: unknown): value is AnyClass {
  return typeof value === 'function' && typeof value.prototype === 'object' && value.prototype !== null;
}

/** Whether instances of the class have this method, inherited ones included. Getters are not run. */
export function hasMethod(target: AnyClass, name: string): boolean {
  for (
    let prototype: object | null = target.prototype as object;
    prototype && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object | null
  ) {
    const member = Object.getOwnPropertyDescriptor(prototype, name);
    if (member) return typeof member.value === 'function' && name !== 'constructor';
  }
  return false;
}
