import type { ModuleRef } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';

/** The application's registry, when it imports ScheduleModule, so that our intervals show beside its own jobs; else one of our own. */
export function schedulerRegistry(moduleRef: ModuleRef): SchedulerRegistry {
  try {
    return moduleRef.get(SchedulerRegistry, { strict: false });
  } catch {
    return new SchedulerRegistry();
  }
}
