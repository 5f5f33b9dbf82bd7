import { pathToFileURL } from 'node:url';
import type { DynamicModule, Type } from '@nestjs/common';
import type { AppFile } from './app-file.js';
import { CliError } from './exit.js';
import { messageOf } from './failure.js';

/** A root module, as Nest takes it. */
export type RootModule = Type | DynamicModule;

/** What `@Module()` leaves on a class. */
const MODULE_KEYS = ['imports', 'providers', 'controllers', 'exports'];

/**
 * Loads the application's module, CommonJS or ES module.
 *
 * @throws {CliError} when the file does not load, or it is not clear which of its exports is meant
 */
export async function loadModule({ file, name, label }: AppFile): Promise<RootModule> {
  const exported = await load(file, label);
  if (name !== null) {
    const chosen = exported.get(name);
    if (isModule(chosen)) return chosen;
    const problem = exported.has(name) ? `exports ${name}, which is no Nest module` : `exports no ${name}`;
    throw new CliError('NO_MODULE', `${label}: the file ${problem}. ${whatThereIs(exported)}`);
  }
  const usual = exported.get('AppModule') ?? exported.get('default');
  if (isModule(usual)) return usual;
  const modules = [...exported.values()].filter(isModule);
  if (modules.length === 1) return modules[0]!;
  throw new CliError(
    'NO_MODULE',
    `${label}: the file exports ${modules.length === 0 ? 'no Nest module' : 'several modules'}. ${whatThereIs(exported)} Name the root module: ` +
      '--app dist/app.module.js#AppModule',
  );
}

async function load(file: string, label: string): Promise<Map<string, unknown>> {
  try {
    const namespace = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    // What a CommonJS file exports is not always known by name.
    const common = namespace.default;
    const inner = typeof common === 'object' && common !== null && !('module' in common) ? common : {};
    return new Map(Object.entries({ ...inner, ...namespace }));
  } catch (error) {
    throw new CliError('APP_FAILED', `${label} could not be loaded: ${messageOf(error)}`, undefined, { cause: error });
  }
}

function isModule(value: unknown): value is RootModule {
  if (typeof value === 'function') return MODULE_KEYS.some((key) => Reflect.hasMetadata(key, value));
  return typeof value === 'object' && value !== null && typeof (value as DynamicModule).module === 'function';
}

function whatThereIs(exported: ReadonlyMap<string, unknown>): string {
  const names = [...exported].filter(([, value]) => isModule(value)).map(([name]) => name);
  return `Modules that it exports: ${names.join(', ') || 'none'}.`;
}
