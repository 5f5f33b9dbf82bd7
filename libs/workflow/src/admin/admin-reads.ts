import type { ServiceParts } from '../service/service.parts.js';
import type { WorkflowService } from '../service/workflow.service.js';

/** What the routes read from, and how a press on a group goes. */
export class AdminReads {
  readonly runs: any;
  readonly attention: any = { groups: async (x: any) => x };
  readonly summary: any = { summary: async () => ({ ongoing: 0 }) };
  readonly definitions: any = {
    definitions: async (w: any) => ({ w }),
    definition: async (n: any, w: any) => ({ n, w }),
  };
  constructor(_parts: ServiceParts, workflows: WorkflowService) {
    this.runs = {
      run: async (id: string) => {
        const h = await workflows.find(id);
        return { id, status: h.status, now: `It is ${h.status}.`, subject: h.subject };
      },
      list: async (f: any, p: any) => ({ runs: [], next_cursor: null, f, p }),
      events: async () => ({ events: [], next_cursor: null }),
    };
  }
  async press(..._args: any[]): Promise<any> {
    return { ok: true };
  }
}
