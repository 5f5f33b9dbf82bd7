/** An application with the dashboard on the suite's database, as an operator's browser finds it. */

import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { WorkflowAdminOptions } from 'nestjs-pg-workflows';
import { DashboardFiles } from '../../libs/workflow/src/admin/dashboard-files';
import { bootAdmin, type AdminApp, type AdminBoot } from './admin';
import { ensureDashboard } from './built';
import type { Suite } from './suite';

interface CookieRequest {
  readonly headers: { readonly cookie?: string };
  operator?: string;
}

/** Lets in whoever has the cookie `operator`, which is their name. */
class CookieGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<CookieRequest>();
    const name = /(?:^|; )operator=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
    if (name === undefined) throw new UnauthorizedException('Operators only');
    request.operator = decodeURIComponent(name);
    return true;
  }
}

export interface DashboardBoot extends Omit<AdminBoot, 'admin'> {
  /** Over the options that {@link bootDashboard} gives: guarded by {@link CookieGuard}, `actor` from it. */
  admin?: WorkflowAdminOptions;
  /** The folder that is served. Default: the dashboard, built where its sources are newer. */
  folder?: string;
}

export interface DashboardApp extends AdminApp {
  /** The page's address, with its slash. */
  readonly page: string;
}

/** As `bootAdmin`, with the dashboard. It is for the caller to close. */
export async function bootDashboard(suite: Suite, boot: DashboardBoot = {}): Promise<DashboardApp> {
  const { folder = ensureDashboard(), admin = {}, override = (builder) => builder, ...rest } = boot;
  const files = DashboardFiles.of(folder);
  const app = await bootAdmin(suite, {
    ...rest,
    admin: { guards: [CookieGuard], actor: (request: CookieRequest) => request.operator, ...admin },
    override: (builder) => override(builder.overrideProvider(DashboardFiles).useValue(files)),
  });
  return { ...app, page: `${app.url}/${admin.path ?? 'admin/workflows'}/` };
}
