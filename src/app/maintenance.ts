// The maintenance role: stands in for the query role under the same certificate. Needs neither MySQL nor the API server.
import { loadKeyPair } from '../../webhooks/certificate.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { close, listen, portOf, type ServerTls, useTls } from '../base/https-server.ts';
import type { Logger } from '../base/logger.ts';
import type { Configuration } from '../config/schema.ts';
import { createMaintenanceApp } from '../query/maintenance.ts';
import { parseAddress } from './address.ts';
import { startHealthServer } from './health.ts';
import { kindsOf } from './kinds.ts';

const DRAIN_MS = 10_000;
const ANSWER_MS = 30_000;
const REFRESH_MS = 10_000;

export async function runMaintenance(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  const { maintenance, health } = configuration;
  const app = createMaintenanceApp({
    kinds: kindsOf(configuration),
    text: maintenance,
    retryAfterSeconds: Math.max(1, Math.round(maintenance.retryAfter / 1000)),
  });
  const address = parseAddress('maintenance.bindAddress', maintenance.bindAddress);
  const server = await listen(app, settings(maintenance.certDir), { ...address, limits: { answerMs: ANSWER_MS } });
  const serving = (): string | undefined => (signal.aborted ? 'shutting down' : undefined);
  const healthServer = await startHealthServer(parseAddress('health.bindAddress', health.bindAddress), { serving });
  logger.info({ port: portOf(server), healthPort: healthServer.port }, 'Maintenance page ready');
  await refresh(maintenance.certDir, { logger, signal, use: (tls) => useTls(server, tls) });
  await close(server, DRAIN_MS);
  await healthServer.close();
  logger.info({}, 'Maintenance page stopped');
}

/** Nobody is asked who he is: there is nothing to read here. */
function settings(certDir: string): ServerTls {
  const { cert, key } = loadKeyPair(certDir);
  return { cert, key };
}

interface Refresh {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly use: (tls: ServerTls) => void;
}

/** A renewed certificate is used without a restart. Ends when the signal does. */
async function refresh(certDir: string, { logger, signal, use }: Refresh): Promise<void> {
  let inUse = JSON.stringify(settings(certDir));
  while (!signal.aborted) {
    await sleep(systemClock, REFRESH_MS, signal);
    try {
      const tls = settings(certDir);
      const text = JSON.stringify(tls);
      if (text === inUse) continue;
      use(tls);
      inUse = text;
      logger.info({}, 'Certificate replaced');
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, 'The certificate could not be read again; the old one stays in use');
    }
  }
}
