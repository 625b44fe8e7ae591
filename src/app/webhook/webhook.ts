// The webhook role. Connects neither to the database nor to the API server until a rule asks for one, so that an
// ordinary answer needs neither.

import { createWebhookApp } from '../../../webhooks/app.ts';
import { loadKeyPair, watchCertificate } from '../../../webhooks/certificate.ts';
import { validatingPolicies } from '../../../webhooks/policies/registry.ts';
import { untilAborted } from '../../base/abort.ts';
import { type Clock, sleep, systemClock } from '../../base/clock.ts';
import { type Address, close, type HttpsServer, listen, portOf, useTls } from '../../base/https-server.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import { createWebhookMetrics } from '../../metrics/metrics.ts';
import { servingUntil, startHealth } from '../health.ts';
import { startTracing } from '../tracing.ts';
import { createAdmissionPorts } from './admission-ports.ts';
import { watchIngestedKinds } from './ingested-kinds.ts';

const ADDRESS: Address = { port: 9443 };
/** The API server waits 30 s for an answer at most. */
const CONNECTION_LIMITS = { bodyMs: 5000, answerMs: 35_000 };
/** How long requests in flight may take after the last new one. */
const SHUTDOWN_MS = 10_000;
const CERTIFICATE_PERIOD_MS = 10_000;
/** How long new connections may hold up the end. With the two others less than terminationGracePeriodSeconds. */
const LATE_MS = 20_000;

export async function runWebhook(configuration: Configuration, logger: Logger, signal: AbortSignal): Promise<void> {
  const { webhook } = configuration;
  const { bindAddress = ADDRESS, certDir } = configuration.server;
  const clock = systemClock;
  const metrics = createWebhookMetrics();
  const tracer = await startTracing({ role: 'webhook', clock, logger, metrics });
  const pair = loadKeyPair(certDir, webhook.clientCaFile);
  const ports = await createAdmissionPorts(configuration, { clock, logger, metrics, tracer });
  const app = createWebhookApp({
    logger,
    clock,
    metrics,
    reconcilerUser: webhook.reconcilerUser,
    isIngested: watchIngestedKinds({ file: webhook.reconcilerConfig, clock, logger }),
    ...(webhook.clientCaFile === '' ? {} : { caller: webhook.clientName }),
    policies: validatingPolicies(configuration.admission, ports),
    shuttingDown: () => signal.aborted,
    tracer,
  });
  const server = await listen(app, pair, {
    ...bindAddress,
    limits: CONNECTION_LIMITS,
    onEnded: (reason) => metrics.server.connectionEnded(reason),
  });
  const stopWatching = watchCertificate(pair, {
    certDir,
    clientCaFile: webhook.clientCaFile,
    periodMs: CERTIFICATE_PERIOD_MS,
    onChange: (renewed) => useTls(server, renewed),
    clock,
    logger,
    metrics: metrics.admission,
  });
  const healthServer = await startHealth(configuration, { checks: servingUntil(signal), metrics, clock, logger });
  logger.info({ port: portOf(server), healthPort: healthServer.port }, 'Webhook ready');
  await untilAborted(signal);
  await untilNoConnections(server, clock, webhook.shutdownDelay);
  stopWatching();
  await close(server, SHUTDOWN_MS);
  await Promise.all([healthServer.close(), ports.close(), tracer?.close()]);
  logger.info({}, 'Webhook stopped');
}

/** Until every node knows that this replica is going, connections still come; refusing them would refuse creates. */
async function untilNoConnections({ connections }: HttpsServer, clock: Clock, delayMs: number): Promise<void> {
  const latest = clock.monotonicMs() + LATE_MS;
  for (let seen = -1; seen !== connections.count && clock.monotonicMs() < latest; ) {
    seen = connections.count;
    await sleep(clock, delayMs, new AbortController().signal);
  }
}
