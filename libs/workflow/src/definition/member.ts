import { classLabel, definitionError, shown } from './definition-error.js';

const SWITCH_ON_LEGACY =
  'was applied as a standard (stage 3) decorator; set "experimentalDecorators": true in tsconfig.json ("legacyDecorator": true for SWC).';

/** Standard decorators get a context object where the legacy ones get a member's key, or nothing. */
export function refuseStandardDecorator(decorator: string, target: unknown, second: unknown): void {
  if (typeof second !== 'object' || second === null || !('kind' in second)) return;
  const owner =
    typeof target === 'function' && second.kind === 'class'
      ? classLabel(target)
      : `Member ${shown((second as { name?: unknown }).name)}`;
  throw definitionError({ owner }, `@${decorator}() ${SWITCH_ON_LEGACY}`);
}

/** The class and the name of a decorated instance member. */
export interface Member {
  readonly target: object;
  readonly name: string;
}

/** An instance member that any decorator of ours may stand on. */
export function memberOf(decorator: string, target: unknown, key: unknown): Member {
  refuseStandardDecorator(decorator, target, key);
  if (typeof target === 'function') {
    throw definitionError(
      { owner: classLabel(target), step: String(key) },
      `@${decorator}() stands on a static member; remove "static": steps, guards and handlers belong to the instance.`,
    );
  }
  const { constructor } = target as object;
  if (typeof key !== 'string') {
    throw definitionError(
      { owner: classLabel(constructor) },
      `@${decorator}() stands on the member ${String(key)}; give it a name that can be stored: a string, not a symbol.`,
    );
  }
  return { target: constructor, name: key };
}

/** An instance method. */
export function methodOf(decorator: string, target: unknown, key: unknown, descriptor: unknown): Member {
  const member = memberOf(decorator, target, key);
  if (typeof (descriptor as PropertyDescriptor | undefined)?.value !== 'function') {
    throw definitionError(
      { owner: classLabel(member.target as { name: string }), step: member.name },
      `@${decorator}() stands on a property or an accessor; write it as a method.`,
    );
  }
  return member;
}

/** `@Step` written without its parentheses is called with the member itself, and would be silently ignored. */
export function refuseBareUse(decorator: string, args: readonly unknown[]): void {
  if (args.length < 2 && typeof args[0] !== 'function') return;
  const owner = typeof args[0] === 'function' ? classLabel(args[0]) : `Member ${shown(args[1])}`;
  throw definitionError({ owner }, `@${decorator} stands without parentheses; write @${decorator}().`);
}
