import { Agent, request } from 'node:http';
import type { LoggerService } from '@nestjs/common';
import * as fc from 'fast-check';
import { createWorkflowTester } from 'nestjs-pg-workflows/testing';
import { bootAdmin, PLATFORMS, type AdminApp } from './support/admin';
import { malformedRequest, type MalformedRequest } from './support/malformed';
import { allRows } from './support/rows';
import { script, Scripted } from './support/scripted';
import { workflowSuite } from './support/suite';

interface Got {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly text: string;
}

/** Sent and answered at once, as many as a pool of connections takes. */
const BATCH = 20;
/** 5,000 requests a platform. */
const BATCHES = 250;

describe('malformed requests', () => {
  const suite = workflowSuite();
  const agent = new Agent({ keepAlive: true, maxSockets: BATCH });
  let admin: AdminApp | undefined;

  afterEach(() => admin?.close());
  afterAll(() => agent.destroy());

  const sent = ({ method, path, headers, body }: MalformedRequest): Promise<Got> =>
    new Promise((resolve, reject) => {
      const url = `${admin!.url}/admin/workflows/api/${path}`;
      const asked = request(url, { method, headers, agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString() }),
        );
      });
      asked.on('error', reject);
      asked.end(body);
    });

  test.each(PLATFORMS)(
    'DASH-20 DASH-21 no malformed request on %s is met with a 5xx, changes a row, or comes back as HTML',
    async (platform) => {
      const errors: unknown[][] = [];
      const logger: LoggerService = { log() {}, warn() {}, error: (...all: unknown[]) => void errors.push(all) };
      admin = await bootAdmin(suite, { platform, logger });
      const [ready, paused, finished] = await admin.workflows.startMany(Scripted, [script({}), script({}), script({})]);
      await paused.pause();
      await createWorkflowTester(admin.app as never).speedrun(finished);
      const before = await allRows(suite.sql);

      const seen = new Map<number, number>();
      const victims = { ready: ready.id, paused: paused.id, finished: finished.id };
      await fc.assert(
        fc.asyncProperty(fc.array(malformedRequest(victims), { minLength: BATCH, maxLength: BATCH }), async (batch) => {
          for (const { status, headers, text } of await Promise.all(batch.map(sent))) {
            seen.set(status, (seen.get(status) ?? 0) + 1);
            if (status >= 500) throw new Error(`${status}: ${text}`);
            if (headers['x-content-type-options'] !== 'nosniff') continue;
            if (/[<>]/.test(text)) throw new Error(`sent back as it came: ${text}`);
          }
        }),
        { numRuns: BATCHES, endOnFailure: false },
      );
      expect(errors).toEqual([]);
      expect(await allRows(suite.sql)).toEqual(before);
      // They got everywhere: to reads, to checks, to runs that are not, to verbs that are refused under the lock.
      expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 400, 403, 404, 409, 415]));
      if (process.env.DEBUG_TESTS) console.log(platform, Object.fromEntries(seen));
    },
  );
});
