// @ts-check
// Starts a compiled application, has it run its workflows, opens its dashboard, and asks its MCP server.

import { setTimeout as pause } from 'node:timers/promises';
import { start, StepFailed } from './command.mjs';
import { freePort, until } from './waiting.mjs';

const EVENTS =
  'started step_scheduled step_started step_completed step_scheduled step_started step_completed finished'.split(' ');

/**
 * Starts the application as its `start:prod` does, and ends it when it has run its workflows.
 *
 * @param {string} step
 * @param {string} app
 * @param {Record<string, string>} env its database's url, and the HTTP platform
 */
export async function startApp(step, app, env) {
  const port = await freePort();
  const server = start([process.execPath, 'dist/main'], { cwd: app, env: { ...env, PORT: String(port) } });
  try {
    const address = `http://127.0.0.1:${port}`;
    await until(step, server, 'it answers', () => ask(`${address}/`));
    for (const path of ['/greetings', '/greetings/orders']) await runWorkflow(step, server, address, path);
    await lookAtDashboard(step, `${address}/admin/workflows`);
    await callTool(step, `${address}/mcp`);
  } finally {
    server.end('SIGTERM');
    await Promise.race([server.ended, pause(10_000, undefined, { ref: false })]);
    server.end('SIGKILL');
  }
}

/**
 * @param {string} step
 * @param {ReturnType<typeof start>} server
 * @param {string} address
 * @param {string} path starts the run
 */
async function runWorkflow(step, server, address, path) {
  const { id } = await ask(`${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ada' }),
  }).catch((error) => {
    throw new StepFailed(step, error.message, server.output());
  });
  const finished = await until(step, server, 'its run has finished', async () => {
    const seen = await ask(`${address}/greetings/${id}`);
    return seen.status === 'finished' && seen;
  });
  if (finished.events.join() !== EVENTS.join()) {
    throw new StepFailed(step, `the finished run has other events: ${finished.events.join(', ')}`, server.output());
  }
}

/**
 * The page, and all that it names.
 *
 * @param {string} step
 * @param {string} address
 */
async function lookAtDashboard(step, address) {
  const page = await fetch(address);
  const html = await page.text();
  const assets = [...html.matchAll(/(?:src|href)="(\.\/assets\/[^"]+)"/g)].map(([, name]) => new URL(name, page.url));
  if (!page.ok || assets.length === 0) throw new StepFailed(step, `${address} answered ${page.status}`, html);
  for (const asset of assets) {
    const { status } = await fetch(asset);
    if (status !== 200) throw new StepFailed(step, `${asset.href} answered ${status}`);
  }
}

/**
 * One tool of the MCP server, as any client calls it: it knows the runs that were there.
 *
 * @param {string} step
 * @param {string} address
 */
async function callTool(step, address) {
  const params = { name: 'workflows', arguments: { status: 'finished' } };
  const { result } = await ask(address, {
    method: 'POST',
    headers: {
      authorization: 'Bearer a-token-for-agents',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  /** @type {{ workflow_class: string }[]} */
  const runs = result?.structuredContent?.runs ?? [];
  // What the application's own tests have run stands after them.
  const [newest, before] = runs.map((run) => run.workflow_class);
  if (newest !== 'OrderWorkflow' || before !== 'GreetingWorkflow') {
    throw new StepFailed(step, 'the MCP server does not know the runs, the newest first', JSON.stringify(result));
  }
}

/**
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
async function ask(url, init) {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${init?.method ?? 'GET'} ${url} answered ${response.status}: ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
}
