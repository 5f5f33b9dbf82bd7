import type { CanActivate, FactoryProvider, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { shown } from '../definition/definition-error.js';
import { WorkflowConfigurationError } from '../errors.js';
import { wrongOption } from './access.options.js';

/** Where a module's routes are, and who gets to them. */
export interface MountOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Under the application's global prefix, if it has one. */
  path?: string;
  /** Guard classes, asked in this order for every route. Nest makes them: what they inject comes from `imports`, or is global. */
  guards?: readonly (Type<CanActivate> | CanActivate)[];
  /** True: no guards of its own. For an application whose global guards (`APP_GUARD`) cover all routes, or where nobody else can reach it. */
  allowUnauthenticated?: boolean;
  /** Modules that export what the guards inject. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}

/** Checked and complete. */
export interface Mount {
  readonly path: string;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  readonly allowUnauthenticated: boolean;
  readonly imports: NonNullable<ModuleMetadata['imports']>;
}

const ROOT = /^\/?$/;
const PATH = /^\/?[\w.~-]+(\/[\w.~-]+)*$/;

/**
 * @param module names it in the error: `WorkflowAdminModule`
 * @throws {WorkflowConfigurationError} naming the option, what was given and what is allowed
 */
export function checkedMount(
  module: string,
  given: MountOptions,
  { byDefault, root }: { byDefault: string; root: boolean },
): Mount {
  const { path = byDefault, guards = [], allowUnauthenticated = false, imports = [] } = given;
  const isPath = typeof path === 'string' && (PATH.test(path) || (root && ROOT.test(path)));
  if (!isPath || /(^|\/)\.\.?(\/|$)/.test(path)) {
    const allowed = `a path without parameters and without a slash at its end, such as "${byDefault}"`;
    throw wrongOption(module, 'path', path, allowed);
  }
  if (!Array.isArray(guards) || !guards.every(isGuard)) {
    const allowed = 'a list of guard classes (with a method canActivate), such as [JwtAuthGuard]';
    throw wrongOption(module, 'guards', guards, allowed);
  }
  assertFlag(module, 'allowUnauthenticated', allowUnauthenticated);
  if (!Array.isArray(imports)) throw wrongOption(module, 'imports', imports, 'a list of modules');
  return { path: path.replace(/^\//, ''), guards: [...guards], allowUnauthenticated, imports };
}

/** @throws {WorkflowConfigurationError} for what is neither true nor false */
export function assertFlag(module: string, option: string, value: unknown): asserts value is boolean {
  if (typeof value !== 'boolean') throw wrongOption(module, option, value, 'true, false');
}

/**
 * @param example options that could be right, as the error shows them
 * @throws {WorkflowConfigurationError} for what is no object, and for options that there are not
 */
export function assertKnownOptions(
  module: string,
  options: unknown,
  known: readonly string[],
  example: string,
): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new WorkflowConfigurationError(
      `${module}: the options are ${shown(options)}; allowed: an object such as ${example}.`,
    );
  }
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new WorkflowConfigurationError(`${module}: there is no option "${unknown}"; there are: ${known.join(', ')}.`);
}

/** A function that makes a guard (`AuthGuard` without its `('jwt')`) is none: Nest 11 takes it, and lets everybody through. */
function isGuard(value: unknown): boolean {
  const guard: unknown = typeof value === 'function' ? value.prototype : value;
  return typeof (guard as CanActivate | null | undefined)?.canActivate === 'function';
}

/** How a module's `forRootAsync` is told what its routes need not be known for. */
export interface LateOptions<Made> {
  /** Tokens of the providers that `useFactory` is called with. */
  inject?: FactoryProvider['inject'];
  /** Makes it, once, as the application boots. */
  useFactory?: (...args: any[]) => Made | Promise<Made>;
  /** A class that makes it: a provider of its own is made of the class. */
  useClass?: Type;
  /** A provider that makes it. */
  useExisting?: Type;
}

const FACTORIES = ['useFactory', 'useClass', 'useExisting'] as const;
export const LATE_KEYS = ['inject', ...FACTORIES] as const;

/**
 * The providers by which a module's `forRootAsync` gets what its factory makes.
 *
 * @param method of a factory class: `createWorkflowAdminOptions`
 * @param takes what `forRootAsync` takes, as the error shows it
 * @throws {WorkflowConfigurationError} unless there is just one factory
 */
export function lateProviders<Made>(
  module: string,
  token: symbol,
  options: LateOptions<Made>,
  { method, takes }: { method: string; takes: string },
): Provider[] {
  const { inject = [], useFactory, useClass, useExisting } = options;
  const made = FACTORIES.map((key) => options[key]).filter((one) => one !== undefined);
  if (made.length !== 1 || typeof made[0] !== 'function') {
    throw new WorkflowConfigurationError(
      `${module}.forRootAsync takes ${takes} and one of useFactory (a function), useClass, useExisting (a class).`,
    );
  }
  if (useFactory) return [{ provide: token, inject, useFactory }];
  const factory = (useClass ?? useExisting)!;
  const late: Provider = {
    provide: token,
    inject: [factory],
    useFactory: (maker: Record<string, () => Made | Promise<Made>>) => maker[method]!(),
  };
  return useClass ? [useClass, late] : [late];
}

/** @throws {WorkflowConfigurationError} for what a factory returned too late to be heeded */
export function assertNotLate(module: string, given: unknown, early: readonly string[]): void {
  const late = early.find((key) => typeof given === 'object' && given !== null && key in given);
  if (late === undefined) return;
  throw new WorkflowConfigurationError(
    `${module}: the factory of forRootAsync returned "${late}"; set it beside useFactory: routes and guards are known before the factory runs.`,
  );
}
