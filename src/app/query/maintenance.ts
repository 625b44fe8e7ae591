// The maintenance role: stands in for the query role under the same certificate. Needs neither MySQL nor the API server.
import { loadKeyPair } from '../../../webhooks/certificate.ts';
import { close, listen, portOf, type ServerTls, useTls } from '../../base/https-server.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import { createMaintenanceApp } from '../../query/maintenance.ts';
import { QUERY_ADDRESS } from '../../query/names.ts';
import { servingUntil, startHealthServer } from '../health.ts';
import { kindsOf } from '../kinds.ts';
import { refreshTls } from '../refresh-tls.ts';

const SHUTDOWN_MS = 10_000;
const ANSWER_MS = 30_000;

export interface MaintenanceRun {
  readonly signal: AbortSignal;
  readonly title: string;
  readonly message: string;
  readonly retryAfterMs: number;
}

export async function runMaintenance(configuration: Configuration, logger: Logger, run: MaintenanceRun): Promise<void> {
  const { signal } = run;
  const { bindAddress = QUERY_ADDRESS, certDir } = configuration.server;
  const app = createMaintenanceApp({
    kinds: kindsOf(configuration),
    text: run,
    retryAfterSeconds: Math.max(1, Math.round(run.retryAfterMs / 1000)),
  });
  const read = (): ServerTls => settings(certDir);
  const inUse = read();
  const server = await listen(app, inUse, { ...bindAddress, limits: { answerMs: ANSWER_MS } });
  const healthServer = await startHealthServer(configuration.health.bindAddress, servingUntil(signal));
  logger.info({ port: portOf(server), healthPort: healthServer.port }, 'Maintenance page ready');
  await refreshTls({ read, inUse, use: (tls) => useTls(server, tls), logger }, signal);
  await close(server, SHUTDOWN_MS);
  await healthServer.close();
  logger.info({}, 'Maintenance page stopped');
}

/** No client certificates are requested: there is nothing to read here. */
function settings(certDir: string): ServerTls {
  const { cert, key } = loadKeyPair(certDir);
  return { cert, key };
}
