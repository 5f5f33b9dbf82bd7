import 'reflect-metadata';
import { ValidationPipe, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';
import { demonstrate } from './narration/demonstration';
import { recallPast } from './narration/history';
import { headline } from './narration/voice';
import { agentsToken } from './operators/agents-token';
import { operatorsToken } from './operators/operators.guard';

async function start(): Promise<INestApplication> {
  if (!process.env.DATABASE_URL) throw new Error('DATABASE_URL is not set. `npm run demo` brings a PostgreSQL along.');
  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'], abortOnError: false });
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true }));
  await app.listen(process.env.PORT ?? 0, '127.0.0.1');
  return app;
}

/**
 * With `--once`: plays the demonstration and exits, 0 when all is as expected. Without: has a past to look at, plays it before that, and stays up until
 * Ctrl-C.
 */
async function main(): Promise<void> {
  const stopped = new Promise<'stopped'>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve('stopped'));
  });
  const app = await start();
  const url = await app.getUrl();
  try {
    const once = process.argv.includes('--once');
    const dashboard = `${url}/admin/workflows/ (any name; password ${operatorsToken})`;
    if (!once) headline(`The dashboard: ${dashboard}\nIt opens on ${await recallPast(app)} runs of the last days.`);
    const fine = await Promise.race([demonstrate(app, url), stopped]);
    process.exitCode = fine === true || (fine === 'stopped' && !once) ? 0 : 1;
    if (once) return;
    if (fine !== 'stopped') {
      headline(`It stays up until Ctrl-C: ${url}/workflows and ${url}/orders/4/workflow
The dashboard: ${dashboard}
Metrics: ${url}/metrics
Agents, by MCP: claude mcp add --transport http workflows ${url}/mcp --header "Authorization: Bearer ${agentsToken}"`);
    }
    await stopped;
  } finally {
    await app.close();
  }
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
