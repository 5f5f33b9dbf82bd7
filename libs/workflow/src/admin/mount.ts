import { Controller, UseGuards, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import type { AdminRoutes } from './admin.options.js';
import { AttentionController } from './attention.controller.js';
import { DashboardController, DashboardSlashController } from './dashboard.controller.js';
import { DefinitionsController } from './definitions.controller.js';
import { describeInOpenApi } from './open-api.js';
import { ResponseHeaders } from '../operating/response-headers.guard.js';
import { RunsController } from './runs.controller.js';
import { SummaryController } from './summary.controller.js';
import { UnknownController } from './unknown.controller.js';
import { VerbsController } from './verbs.controller.js';

/** In the order in which platforms look at them: what knows no path comes last. */
const API = [
  SummaryController,
  RunsController,
  VerbsController,
  AttentionController,
  DefinitionsController,
  UnknownController,
];

/** The controllers at a path, behind guards: classes of their own, as an application may mount them twice. */
export function mountedAt({ path, guards, dashboard }: Pick<AdminRoutes, 'path' | 'guards' | 'dashboard'>): Type[] {
  describeInOpenApi();
  const page = [DashboardController, ...(path === '' ? [] : [DashboardSlashController])];
  return [...API, ...(dashboard ? page : [])].map((base) => {
    const mounted = { [base.name]: class extends (base as Type) {} }[base.name]!;
    // Versioned or not, these routes are the package's: they are where `path` says.
    Controller({ path, version: VERSION_NEUTRAL })(mounted);
    UseGuards(ResponseHeaders, ...guards)(mounted);
    return mounted;
  });
}
